import type { Clock } from '@ratepact/contract'
import type { LimiterEvent } from '../events.js'
import { createLog } from './log.js'
import type { Logger } from './logger.js'
import { createRation } from './ration.js'

type Without<E, K extends PropertyKey> = E extends unknown ? Omit<E, K> : never

/** An event before it is known how many like it there were. */
export type Happening = Without<LimiterEvent, 'times'>

const EVERY_MS = 1000
const AT_ONCE = 10

/**
 * Tells a listener and a log what happens. What may happen with each call is told a few times at once and then once a
 * second, with how often it happened; the other kinds are limited where they come from. A watcher is
 * told each time. Undefined where nobody listens.
 */
export function createTeller(
  clock: Pick<Clock, 'now'>,
  listener: ((event: LimiterEvent) => unknown) | undefined,
  logger: Logger | undefined,
  watch?: (event: LimiterEvent) => void,
): ((event: Happening) => void) | undefined {
  const log = logger && createLog(clock, logger)
  if (listener === undefined && log === undefined && watch === undefined) return undefined
  const rations = {
    refused: createRation(clock, EVERY_MS, AT_ONCE),
    healed: createRation(clock, EVERY_MS, AT_ONCE),
    evicted: createRation(clock, EVERY_MS, AT_ONCE),
    'lease-lost': createRation(clock, EVERY_MS, AT_ONCE),
  }
  return (event) => {
    const rationed = isRationed(event, rations)
    watch?.((rationed ? { ...event, times: 1 } : event) as LimiterEvent)
    const times = rationed ? rations[event.type]() : undefined
    if (times === 0) return
    const told = (times === undefined ? event : { ...event, times }) as LimiterEvent
    safely(listener, told)
    safely(log, told)
  }
}

function isRationed<R extends object>(event: Happening, rations: R): event is Happening & { type: keyof R } {
  return Object.hasOwn(rations, event.type)
}

/** Calls a listener so that its own fault harms nobody: what it throws, now or later, is passed over. */
export function safely<T>(listener: ((told: T) => unknown) | undefined, told: T): void {
  if (listener === undefined) return
  try {
    // A listener watches; it must not be able to stop what it watches.
    const answer = listener(told)
    if (typeof answer === 'object' && answer !== null) Promise.resolve(answer).catch(() => {})
  } catch {}
}
