import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { startRedis, type TestRedis } from '../../redis.js'
import { until } from '../../wait.js'
import { type Fleet, INSTANCES, quotas, startFleet, WINDOW_MS } from './fleet.js'
import { type Load, type Seen, startLoad } from './load.js'
import { expectRow } from './table.js'

interface Outage {
  readonly name: string
  strike(redis: TestRedis): void
  mend(redis: TestRedis): Promise<void>
}

const outages: readonly Outage[] = [
  {
    name: 'Redis killed under 4 processes, started again empty',
    strike: (redis) => redis.signal('SIGKILL'),
    mend: (redis) => redis.restart(),
  },
  {
    name: 'Redis stopped under 4 processes, continued',
    strike: (redis) => redis.signal('SIGSTOP'),
    mend: async (redis) => redis.signal('SIGCONT'),
  },
]

/** The number of the window that a time falls into: of its end. */
const windowOf = (ms: number) => Math.floor(ms / WINDOW_MS) + 1

/** Waits until every process counts in Redis, and for so long that nothing has happened. */
async function atRest(fleet: Fleet, forMs: number): Promise<void> {
  let states = await fleet.states()
  const isAtRest = async () => {
    states = await fleet.states()
    const lastMs = Math.max(...states.map(({ changedMs }) => changedMs))
    return states.every(({ byStore, without }) => byStore > 0 && without === 0) && Date.now() - lastMs > forMs
  }
  await until(`every process has counted in Redis for ${forMs} ms`, isAtRest, 40_000).catch((error) => {
    throw new Error(`${error.message}: ${JSON.stringify(states)}`)
  })
}

async function lastEventMs(fleet: Fleet): Promise<number> {
  return Math.max(...(await fleet.states()).map(({ changedMs }) => changedMs))
}

const all = process.env.FAULTS === 'all' || process.env.FAULTS_TABLE === 'write'

it.each(all ? outages : outages.slice(0, 1))(
  '$name: no window admits more than the quota or one for each process',
  async (outage) => {
    const redis = await startRedis()
    onTestFinished(() => redis.stop())
    const fleet = await startFleet(redis.port)
    onTestFinished(() => fleet.stop())
    const loads = fleet.ports.flatMap((port) => quotas.map((quota) => startLoad(port, 2, `/${quota}`)))
    await atRest(fleet, 0)

    const struckMs = Date.now()
    const beginMs = performance.now()
    outage.strike(redis)
    await pause(3.2 * WINDOW_MS)
    const mendedMs = Date.now()
    const endMs = performance.now()
    await outage.mend(redis)
    await atRest(fleet, 2.2 * WINDOW_MS)
    const backAtMs = await lastEventMs(fleet)
    await Promise.all(loads.map((load) => load.stop()))

    const [struck, mended, back] = [struckMs, mendedMs, backAtMs].map(windowOf) as [number, number, number]
    for (const [quota, windows] of await fleet.admitted()) {
      const admitted = (window: number) => windows[window] ?? 0
      // The store may have granted all of the window before the shares begin.
      expect(admitted(struck)).toBeLessThanOrEqual(quota + Math.max(quota, INSTANCES))
      for (let window = struck + 1; window < mended; window += 1) {
        expect(admitted(window)).toBeLessThanOrEqual(Math.max(quota, INSTANCES))
        expect(admitted(window)).toBeGreaterThan(0)
      }
      // One window later all is as if nothing had been.
      for (let window = back + 1; window < windowOf(Date.now()); window += 1)
        expect(admitted(window)).toBeLessThanOrEqual(quota)
      expect(admitted(back + 1)).toBeGreaterThan(0)
    }
    const seen = seenBy(loads)
    expect(seen.filter(({ kind }) => kind !== 'counted' && kind !== 'limited')).toEqual([])
    expectRow(
      outage.name,
      'local',
      seen.filter(({ sentMs }) => sentMs >= beginMs && sentMs < endMs),
      backAtMs - mendedMs,
    )
  },
  60_000,
)

function seenBy(loads: readonly Load[]): readonly Seen[] {
  return loads.flatMap(({ seen }) => seen)
}
