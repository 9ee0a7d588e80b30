// Gets a fresh clone ready: packages always; a build and Redis where asked for (--build, --redis). What is there
// already is left alone, so it costs little before every run. Speaks on stderr: stdout belongs to what comes after.
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

function installRedis() {
  if (answers('redis-server', '--version')) return
  console.error('installing redis-server…')
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n']
  if (!answers('apt-get', '--version') || (asRoot.length > 0 && !answers(...asRoot, 'true')))
    fail(
      'the tests need redis-server 6.2 or newer on the PATH; install it (brew install redis, apt-get install redis-server)',
    )
  const [command, ...before] = [...asRoot, 'apt-get']
  run(command, ...before, 'update', '-qq')
  run(command, ...before, 'install', '-y', '-qq', 'redis-server')
}

installPackages()
if (process.argv.includes('--redis')) installRedis()
if (process.argv.includes('--build')) run('npm', 'run', '--silent', 'build')
