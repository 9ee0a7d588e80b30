import { parseArgs } from 'node:util'

export type Mode = 'table' | 'json' | 'serve' | 'help'

export const usage = `Usage: npm run demo [-- --json | --serve]

  (nothing)  drive 300 calls at a limited API, twice, and print a table
  --json     the same, and print nothing but the figures
  --serve    keep the API up to be tried by hand, until Ctrl-C
  --help     this text`

/** What the command line asks for. @throws Error for anything else */
export function readMode(args: readonly string[]): Mode {
  const flag = { type: 'boolean' } as const
  const { values } = parseArgs({ args: [...args], options: { json: flag, serve: flag, help: flag } })
  const given = Object.keys(values) as Mode[]
  if (given.length > 1) throw new Error(`Expected one of ${given.map((name) => `--${name}`).join(', ')}`)
  return given[0] ?? 'table'
}
