// Everything that must hold before a change lands, one after the other, since some tests take the time: the tests on
// this Node, the checks that are no tests, the packages as published, and the tests on newer Nodes with the newest
// peers. A check counts as one. Ends with the line `N passed, N failed`.
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const newest = join(root, 'test/newest')
const report = join(root, '.cache/tests.json')
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]

const failures = []
const times = []
let passed = 0
let failed = 0

function run(title, [name, ...args], options = {}) {
  console.log(`\n> ${title}`)
  const started = performance.now()
  const { status } = spawnSync(name, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], ...options })
  times.push([title, Math.round((performance.now() - started) / 1000)])
  return status === 0
}

function check(title, ...command) {
  if (run(title, command)) passed += 1
  else fails(title, 1)
}

function fails(title, count) {
  failed += count
  failures.push(title)
}

/** Counts the tests of a run; one that left no report, or failed without a failed test, counts as one failure. */
function tests(title, command, env = {}) {
  rmSync(report, { force: true })
  const ok = run(title, command, { env: { ...process.env, ...env } })
  const counts = readCounts()
  passed += counts.numPassedTests
  const failedTests =
    ok && counts.numPassedTests > 0 ? counts.numFailedTests : Math.max(1, counts.numFailedTests)
  if (failedTests > 0) fails(title, failedTests)
}

function readCounts() {
  try {
    return JSON.parse(readFileSync(report, 'utf8'))
  } catch {
    return { numPassedTests: 0, numFailedTests: 1 }
  }
}

/** A command that runs with another version of Node. */
function withNode(version, ...command) {
  return ['npx', '-y', '-p', `node@${version}`, '-c', command.map((word) => `'${word}'`).join(' ')]
}

function leg(version) {
  const vitest = ['node', 'node_modules/vitest/vitest.mjs', 'run', ...reporters, '--config']
  const env = { PEERS: 'newest' }
  tests(`tests on Node ${version}`, withNode(version, ...vitest, 'test/vitest.config.ts'), env)
  tests(
    `packages on Node ${version}`,
    withNode(version, ...vitest, 'test/package/vitest.config.ts', 'test/package/load.test.ts'),
  )
}

tests('tests', ['npm', 'test', '--', ...reporters])
check('lint', 'npm', 'run', '--silent', 'lint')
check('types', 'npm', 'run', '--silent', 'types')
check('embedded Lua', 'node', 'packages/server/lua.js', '--check')
check('snippets of the README', 'node', 'tools/snippets.js', '--check')
check('transcripts of the adapters', 'npm', 'run', '--silent', 'transcripts', '--', '--check')
check('unused code and dependencies', 'npm', 'run', '--silent', 'unused')
check('size of the client', 'node', 'tools/size.js')
check('alerts and dashboard', 'node', 'tools/monitoring.js')
check('public types', 'node', 'tools/api.js', '--check')
tests('packages', ['npm', 'run', 'test:packages', '--', ...reporters])
const newer = ['22.23.3', '24.21.0']
if (run('newest peers', withNode(newer[0], 'npm', 'ci'), { cwd: newest })) newer.forEach(leg)
else fails('newest peers', 1)

console.log(`\n${times.map(([title, seconds]) => `${String(seconds).padStart(5)} s  ${title}`).join('\n')}`)
for (const title of failures) console.log(`FAILED: ${title}`)
console.log(`\n${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
