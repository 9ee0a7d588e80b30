// Everything that must hold before a change lands: the tests, then the checks that are no tests. Each check counts
// as one. Ends with the line `N passed, N failed`.
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const report = `${root}.cache/tests.json`

function passes(...command) {
  console.log(`\n> ${command.join(' ')}`)
  const [name, ...args] = command
  return spawnSync(name, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] }).status === 0
}

/** The counts of the test run; a run that left no report, or failed without a failed test, counts as one failure. */
function testCounts(ok) {
  try {
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, 'utf8'))
    return [numPassedTests, ok ? numFailedTests : Math.max(1, numFailedTests)]
  } catch {
    return [0, 1]
  }
}

rmSync(report, { force: true })
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
let [passed, failed] = testCounts(passes('npm', 'test', '--', ...reporters))
const checks = [
  ['npm', 'run', '--silent', 'lint'],
  ['npm', 'run', '--silent', 'types'],
  ['node', 'packages/server/lua.js', '--check'],
  ['node', 'tools/snippets.js', '--check'],
]
for (const check of checks) {
  if (passes(...check)) passed += 1
  else {
    failed += 1
    console.log(`FAILED: ${check.join(' ')}`)
  }
}
if (passed === 0) failed = Math.max(1, failed)
console.log(`\n${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
