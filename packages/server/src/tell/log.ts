import type { Clock } from '@ratepact/contract'
import type { LimiterEvent } from '../events.js'
import type { Logger } from './logger.js'
import { createRation } from './ration.js'

interface Line {
  readonly level: keyof Logger
  readonly text: string
}

/** What goes on and on is written a few times, and then so often. */
const EVERY_MS = 60_000
const AT_ONCE = 3
/** Each of these says something new, and they are few by themselves. */
const ALWAYS: readonly LimiterEvent['type'][] = ['recovered', 'breaker', 'config-fault']

/** Writes events to a log, in words; far fewer of them than are told to a listener. */
export function createLog(clock: Pick<Clock, 'now'>, logger: Logger): (event: LimiterEvent) => unknown {
  const rations = new Map<string, () => number>()
  /** Calls decided without the store that no line has told of yet. */
  let calls = 0
  return (event) => {
    if (event.type === 'degraded') calls += event.calls
    const ration = rations.get(event.type) ?? createRation(clock, EVERY_MS, AT_ONCE)
    rations.set(event.type, ration)
    if (!ALWAYS.includes(event.type) && ration() === 0) return undefined
    const line = lineOf(event, calls)
    if (line === undefined) return undefined
    if (event.type === 'degraded') calls = 0
    return logger[line.level](`ratepact: ${line.text}`)
  }
}

function lineOf(event: LimiterEvent, calls: number): Line | undefined {
  switch (event.type) {
    case 'degraded':
      return {
        level: 'warn',
        text: `${count(calls, 'call')} decided without the store, which is ${event.mode} mode (${event.reason}): ${event.error.message}`,
      }
    case 'recovered':
      return { level: 'info', text: `the store answers again, after ${(event.afterMs / 1000).toFixed(1)} s` }
    case 'breaker':
      if (event.state === 'closed') return undefined
      return {
        level: 'warn',
        text: `${event.place === undefined ? 'the store' : `the store's ${event.place}`} is left alone, but for one call now and then to see whether it is back`,
      }
    case 'config-fault':
      return { level: 'error', text: `${event.problem}. ${event.remedy}` }
    case 'healed':
      return {
        level: 'warn',
        text: `a stored state of policy "${event.policy}" could not be read and was begun afresh`,
      }
    case 'evicted':
      return {
        level: 'warn',
        text: `the memory store is full and forgot a bucket of policy "${event.policy}"`,
      }
    case 'lease-lost':
      return {
        level: 'warn',
        text: `${count(event.units, 'unit')} of policy "${event.policy}" taken ahead were lost`,
      }
    case 'shadow-refused': {
      const what = event.policy === undefined ? 'the candidate' : `the shadow "${event.policy}"`
      if (event.passed === 0) return undefined
      return { level: 'info', text: `${what} would have refused calls that passed` }
    }
    case 'refused':
      // That somebody is limited is daily business.
      return undefined
  }
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}
