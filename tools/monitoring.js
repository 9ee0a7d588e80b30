// Whether Prometheus takes the alert rules, whether they do what their tests say, and whether it can read every query of
// the dashboard. promtool is that of the PATH, else the one in Debian's package, unpacked and not installed: a
// Prometheus that runs is no use to anybody here.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const monitoring = join(root, 'packages/server/monitoring')
const unpacked = join(root, '.cache/prometheus')

function answers(command, ...args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0
}

function run(command, args, cwd = root) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: ['ignore', 2, 2] })
  if (error) throw error
  if (status !== 0) throw new Error(`\`${[command, ...args].join(' ')}\` ended with ${status}`)
}

function promtool() {
  for (const found of ['promtool', join(unpacked, 'usr/bin/promtool')])
    if (answers(found, '--version')) return found
  if (!answers('apt-get', '--version'))
    throw new Error('this needs promtool on the PATH; it comes with Prometheus')
  console.error('getting promtool…')
  mkdirSync(unpacked, { recursive: true })
  if (!answers('apt-cache', 'show', 'prometheus')) {
    const [command, ...before] = [...(process.getuid?.() === 0 ? [] : ['sudo', '-n']), 'apt-get']
    run(command, [...before, 'update', '-qq'])
  }
  run('apt-get', ['download', '-qq', 'prometheus'], unpacked)
  const archive = readdirSync(unpacked).find((name) => name.endsWith('.deb'))
  run('dpkg-deb', ['-x', archive, '.'], unpacked)
  rmSync(join(unpacked, archive))
  return join(unpacked, 'usr/bin/promtool')
}

/** Every query of the dashboard as a rule, with something in the place of Grafana's variables. */
function queriesAsRules() {
  const { panels } = JSON.parse(readFileSync(join(monitoring, 'dashboard.json'), 'utf8'))
  const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  const rules = queries.map((query, nth) => ({
    record: `query:${nth}`,
    expr: query.replaceAll('$__rate_interval', '5m').replace(/\$(job|limiter)/g, '.*'),
  }))
  return JSON.stringify({ groups: [{ name: 'dashboard', rules }] })
}

const tool = promtool()
const folder = mkdtempSync(join(tmpdir(), 'ratepact-monitoring-'))
try {
  const queries = join(folder, 'queries.yml')
  writeFileSync(queries, queriesAsRules())
  run(tool, ['check', 'rules', join(monitoring, 'alerts.yml'), queries])
  run(tool, ['test', 'rules', 'test/monitoring/alerts.test.yml'])
} finally {
  rmSync(folder, { recursive: true, force: true })
}
