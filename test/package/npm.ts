import { execFileSync } from 'node:child_process'

/** Runs npm in a folder, as if from a shell there: what the npm that runs the tests has set is left out. */
export function npm(folder: string, ...args: readonly string[]): string {
  const env = { ...process.env }
  for (const name of Object.keys(env))
    if (/^npm_(config_local_prefix|config_package|package_)/.test(name)) delete env[name]
  return execFileSync('npm', [...args], {
    cwd: folder,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}
