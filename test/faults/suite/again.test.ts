import { expect, it, onTestFinished } from 'vitest'
import { until } from '../../wait.js'
import { courseOf } from './course.js'
import { clientOf, type ModeName, startGround, type Watched, watchAll } from './ground.js'
import { countOf, type Kind } from './load.js'

const TIMES = 4
const KINDS: Readonly<Record<ModeName, Kind>> = { open: 'unchecked', closed: 'unavailable', local: 'counted' }

async function goDown(one: Watched, from: number): Promise<void> {
  const { service, load, mode } = one
  await until(`${mode} has stopped to ask`, () =>
    service.events.slice(from).some((event) => event.type === 'breaker' && event.state === 'open'),
  )
  const seen = load.seen.length
  await until(`${mode} answers without Redis`, () => load.seen.length > seen + 20)
  const { [KINDS[mode]]: expected } = countOf(load.seen.slice(seen))
  expect(expected).toBe(load.seen.length - seen)
}

it(`down and up ${TIMES} times is the same each time, in every mode`, { timeout: 60_000 }, async () => {
  const ground = await startGround()
  onTestFinished(() => ground.stop())
  const watched = await watchAll(() => clientOf(ground.proxy.port), { is: 'outage' })

  for (let time = 0; time < TIMES; time += 1) {
    const from = watched.map(({ service }) => service.events.length)
    ground.redis.signal('SIGKILL')
    await Promise.all(watched.map((one, i) => goDown(one, from[i] ?? 0)))
    await ground.redis.restart()
    await Promise.all(watched.map((one) => one.countedByStore()))
    await until('all have told that it is over', () =>
      watched.every(({ service }) => service.events.at(-1)?.type === 'recovered'),
    )
    for (const [i, { service }] of watched.entries())
      expect(courseOf(service.events.slice(from[i]))).toEqual([
        'degraded',
        'breaker open',
        'breaker closed',
        'recovered',
      ])
  }
  for (const { load, service, mode } of watched) {
    await load.stop()
    expect(Object.entries(countOf(load.seen)).flatMap(([kind, count]) => (count > 0 ? [kind] : []))).toEqual(
      mode === 'local' ? ['counted'] : ['counted', KINDS[mode]],
    )
    expect(await service.used()).toBeLessThanOrEqual(load.seen.length)
  }
})
