import { setTimeout as pause } from 'node:timers/promises'
import type { LimiterEvent } from '@ratepact/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../wait.js'
import { essential, type Fault, more } from './faults.js'
import { clientOf, type Ground, type ModeName, modes, sentWithin, startGround, type Watched, watch } from './ground.js'
import { countOf, type Seen, startLoad } from './load.js'
import { expectRow } from './table.js'

const all = process.env.FAULTS === 'all' || process.env.FAULTS_TABLE === 'write'
const names = Object.keys(modes) as ModeName[]

/** Of an outage a time limit that is soon over; where there is none, one that a busy machine does not exceed. */
const timeoutOf = ({ is }: Fault) => (is === 'outage' ? 200 : 5000)

/** What must never be seen, whatever happens. */
function expectNoHarm(mode: ModeName, seen: readonly Seen[]): void {
  const allowed = { open: ['counted', 'unchecked'], closed: ['counted', 'unavailable'], local: ['counted'] }
  expect(seen.filter(({ kind }) => !allowed[mode].includes(kind))).toEqual([])
}

/** Each kind of event once for each time that it begins. */
function courseOf(events: readonly LimiterEvent[]): readonly string[] {
  const words = events.map((event) => (event.type === 'breaker' ? `breaker ${event.state}` : event.type))
  return words.filter((word, i) => word !== words.slice(0, i).findLast((one) => one === word || one === 'recovered'))
}

describe.each(all ? [...essential, ...more] : essential)('$name', (fault) => {
  it('is met by each mode as it says, and is over when it is over', { timeout: 60_000 }, async () => {
    const ground = await startGround()
    onTestFinished(() => ground.stop())
    await fault.prepare?.(ground)
    const watched = await Promise.all(
      names.map((mode) => watch(clientOf(ground.proxy.port), mode, timeoutOf(fault))),
    )
    onTestFinished(async () => void (await Promise.all(watched.map((one) => one.stop()))))
    await Promise.all(watched.map((one) => one.countedByStore()))
    await suffer(fault, ground, watched)
  })
})

async function suffer(fault: Fault, ground: Ground, watched: readonly Watched[]): Promise<void> {
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
  const backMs = await Promise.all(
    watched.map(async (one) => {
      await one.countedByStore()
      return performance.now() - mendMs
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
    if (fault.is !== 'none') expectMode(mode, sentWithin(load.seen, strikeMs, mendMs), mendMs)
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

function expectCourse(fault: Fault, mode: ModeName, events: readonly LimiterEvent[]): void {
  if (fault.is === 'none') return expect(events).toEqual([])
  const degraded = events.filter((event) => event.type === 'degraded')
  expect(degraded.filter((event) => event.mode !== mode || !fault.reasons?.includes(event.reason))).toEqual([])
  if (fault.is === 'configuration') {
    const faults = events.filter((event) => event.type === 'config-fault')
    return expect(faults).toMatchObject([{ mode, remedy: expect.stringMatching(/./) }])
  }
  const course = courseOf(events)
  if (course.length > 4) console.log(events)
  expect(course).toEqual(['degraded', 'breaker open', 'breaker closed', 'recovered'])
}

/** Nothing charged twice, nothing lost that was promised, and every call counted once from now on. */
async function expectCounts(fault: Fault, { mode, service, load }: Watched): Promise<void> {
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
