import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { freePort } from '../../redis.js'

it('1 000 000 callers during an outage do not fill the memory', { timeout: 120_000 }, async () => {
  const path = fileURLToPath(new URL('partitions-process.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...['--expose-gc', '--import', 'tsx', '--conditions=@ratepact/source'],
    ...[path, String(await freePort())],
  ])
  const parts = stdout.trim().split('\n').map((line) => JSON.parse(line) as [rss: number, used: number])
  console.log(parts)
  expect(parts).toHaveLength(10)
  // Everything is full after 300 000; what the seven tenths after it add would be more than that if it were kept.
  const [rss = 0, used = 0] = parts[2] ?? []
  for (const [rssThen, usedThen] of parts.slice(3)) {
    expect(usedThen).toBeLessThan(used * 1.2)
    expect(rssThen).toBeLessThan(rss * 1.3)
  }
})
