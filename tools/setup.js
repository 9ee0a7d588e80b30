// Gets a fresh clone ready: packages always; a build, Redis and a browser where asked for (--build, --redis, --chromium).
// What is there already is left alone, so it costs little before every run. Speaks on stderr: stdout belongs to what comes
// after.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const stamp = `${root}node_modules/.installed`

function run(command, ...args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] })
  if (error) throw error
  if (status !== 0) fail(`\`${[command, ...args].join(' ')}\` ended with ${status}`)
}

function fail(reason) {
  console.error(`set-up failed: ${reason}`)
  process.exit(1)
}

function answers(command, ...args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0
}

function installPackages() {
  const lock = createHash('sha256')
    .update(readFileSync(`${root}package-lock.json`))
    .digest('hex')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return
  console.error('installing packages…')
  run('npm', 'ci', '--no-fund', '--no-audit')
  writeFileSync(stamp, lock)
}

/** Installs a package of Debian or Ubuntu, unless its command is there. */
function installByApt(command, need, there = command) {
  if (answers(there, '--version')) return
  console.error(`installing ${command}…`)
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n']
  if (!answers('apt-get', '--version') || (asRoot.length > 0 && !answers(...asRoot, 'true')))
    fail(`the tests need ${need} on the PATH; install it (brew install …, apt-get install ${command})`)
  const [apt, ...before] = [...asRoot, 'apt-get']
  run(apt, ...before, 'update', '-qq')
  run(apt, ...before, 'install', '-y', '-qq', '--no-install-recommends', command)
}

installPackages()
if (process.argv.includes('--redis')) installByApt('redis-server', 'redis-server 6.2 or newer')
if (process.argv.includes('--chromium')) installByApt('chromium', 'chromium', process.env.CHROMIUM)
if (process.argv.includes('--build')) run('npm', 'run', '--silent', 'build')
