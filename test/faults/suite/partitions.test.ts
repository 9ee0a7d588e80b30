import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { freePort } from '../../redis.js'

/** Twice as many as are remembered, and more; a million of them takes a minute of a machine that does nothing else. */
const callers = process.env.FAULTS === 'all' ? 1_000_000 : 250_000

it(`${callers} callers during an outage do not fill the memory`, { timeout: 400_000 }, async () => {
  const path = fileURLToPath(new URL('partitions-process.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...['--expose-gc', '--import', 'tsx', '--conditions=@ratepact/source'],
    ...[path, String(await freePort()), String(callers)],
  ])
  const parts = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as [rss: number, used: number])
  expect(parts).toHaveLength(10)
  // What is remembered is full by now: as many callers again would take as much again if they were kept.
  const [rss = 0, used = 0] = parts[4] ?? []
  for (const [rssThen, usedThen] of parts.slice(5)) {
    expect(usedThen).toBeLessThan(used * 1.3)
    expect(rssThen).toBeLessThan(rss * 1.3)
  }
})
