import { setTimeout as pause } from 'node:timers/promises'
import type { LimiterEvent } from '@ratepact/server'
import { expect } from 'vitest'
import { until } from '../../wait.js'
import { courseOf } from './course.js'
import type { Fault } from './faults.js'
import { type ModeName, sentWithin, type Watched } from './ground.js'
import { countOf, type Seen, startLoad } from './load.js'
import { expectRow } from './table.js'

/** What must never be seen, whatever happens. */
function expectNoHarm(mode: ModeName, seen: readonly Seen[]): void {
  const allowed = { open: ['counted', 'unchecked'], closed: ['counted', 'unavailable'], local: ['counted'] }
  expect(seen.filter(({ kind }) => !allowed[mode].includes(kind))).toEqual([])
}

/** Lets a fault happen to services under load, and sees to it that each fares as its mode says. */
export async function suffer<G>(fault: Fault<G>, ground: G, watched: readonly Watched[]): Promise<void> {
  const told = watched.map(({ service }) => service.events.length)
  const beginMs = performance.now()
  await fault.strike(ground)
  const strikeMs = performance.now()
  if (fault.is === 'outage')
    await until('all have stopped to ask', () =>
      watched.every(({ service }, i) => courseOf(service.events.slice(told[i])).includes('breaker open')),
    )
  await pause(400)
  const mendMs = performance.now()
  await fault.mend(ground)
  const overMs = performance.now()
  const backMs = await Promise.all(
    watched.map(async (one) => {
      await one.countedByStore()
      return performance.now() - overMs
    }),
  )
  if (fault.is === 'outage')
    await until('all have told that it is over', () =>
      watched.every(({ service }) => service.events.at(-1)?.type === 'recovered'),
    )
  for (const [i, one] of watched.entries()) {
    const { mode, service, load } = one
    await load.stop()
    expectNoHarm(mode, load.seen)
    expectCourse(fault, mode, service.events.slice(told[i]))
    if (fault.is !== 'none' && !fault.healsItself)
      expectMode(mode, sentWithin(load.seen, strikeMs, mendMs), mendMs)
    await expectCounts(fault, one)
    expectRow(fault.name, mode, sentWithin(load.seen, beginMs, mendMs), backMs[i] ?? 0)
  }
}

/** From the first answer without the store on, nobody is answered as if there was one. */
function expectMode(mode: ModeName, seen: readonly Seen[], mendMs: number): void {
  if (mode === 'local') return
  const kind = mode === 'open' ? 'unchecked' : 'unavailable'
  const first = seen.find((one) => one.kind === kind)
  expect(first).toBeDefined()
  const later = seen.filter(({ sentMs, gotMs }) => sentMs > (first?.gotMs ?? 0) && gotMs < mendMs)
  expect(countOf(later)).toEqual({ ...countOf([]), [kind]: later.length })
}

function expectCourse(fault: Fault<never>, mode: ModeName, events: readonly LimiterEvent[]): void {
  if (fault.is === 'none') {
    expect(events).toEqual([])
    return
  }
  const degraded = events.filter((event) => event.type === 'degraded')
  expect(degraded.filter((event) => event.mode !== mode || !fault.reasons?.includes(event.reason))).toEqual(
    [],
  )
  if (fault.is === 'configuration') {
    const faults = events.filter((event) => event.type === 'config-fault')
    expect(faults).toMatchObject([{ mode, remedy: expect.stringMatching(/./) }])
    return
  }
  const course = courseOf(events)
  expect(course).toEqual(['degraded', 'breaker open', 'breaker closed', 'recovered'])
}

/** Nothing charged twice, nothing lost that was promised, and every call counted once from now on. */
async function expectCounts(fault: Fault<never>, { mode, service, load }: Watched): Promise<void> {
  const { ledger } = service
  const used = await service.used()
  const admitted = countOf(load.seen).counted
  expect(used).toBeLessThanOrEqual(ledger.sure + ledger.unsure)
  if (mode !== 'local') expect(ledger.sure).toBeGreaterThanOrEqual(admitted)
  if (!fault.forgets) expect(used).toBeGreaterThanOrEqual(ledger.sure)
  // What this process counted alone is charged as well, but for what may have been charged already.
  if (!fault.forgets && mode === 'local') {
    expect(used).toBeGreaterThanOrEqual(admitted - ledger.unsure - ledger.late)
    expect(used).toBeLessThanOrEqual(admitted)
  }
  const { sure, unsure } = ledger
  const again = startLoad(service.port, 4)
  await until('20 calls more are charged', () => ledger.sure - sure >= 20)
  await again.stop()
  expectNoHarm(mode, again.seen)
  const more = (await service.used()) - used
  expect(more).toBeGreaterThanOrEqual(ledger.sure - sure)
  expect(more).toBeLessThanOrEqual(ledger.sure - sure + ledger.unsure - unsure)
}
