import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createLimiter, fixedWindow, type Store } from '@ratepact/server'
import { expect, it } from 'vitest'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes in use when what is not needed has been let go. */
async function heapInUse(): Promise<number> {
  for (let i = 0; i < 3; i += 1) {
    collect()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return process.memoryUsage().heapUsed
}

/** Keeps nothing, so that what grows is the limiter. */
const endless: Store = {
  name: 'endless',
  advances: true,
  run: (ops) =>
    ops.map((op) => {
      const readings =
        op.kind === 'advance' ? [[op.advance.want, op.advance.held.units, 2e15, 0, 0]] : [[0, 2e15]]
      return { nowUs: 1e15, admitted: true, blockedUs: 0, replayed: false, readings, healed: [] }
    }),
  close: async () => {},
}

it('a limiter with leases grows no further over 100 000 partitions, busy and quiet', {
  timeout: 60_000,
}, async () => {
  const policies = [fixedWindow({ name: 'daily', quota: 1000, windowSeconds: 86_400 })]
  const limiter = createLimiter({ policies, store: endless, leases: { maxPartitions: 100 } })
  const calls = async (from: number, to: number) => {
    // Some are called once, every hundredth often enough for a lease.
    for (let who = from; who < to; who += 1)
      for (let call = 0; call < (who % 100 === 0 ? 20 : 1); call += 1) await limiter.consume(`client-${who}`)
  }
  await calls(0, 30_000)
  const before = await heapInUse()
  await calls(30_000, 130_000)
  expect((await heapInUse()) - before).toBeLessThan(2_000_000)
  await limiter.close()
})
