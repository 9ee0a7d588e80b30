import type { Clock } from '@ratepact/contract'
import type { Watcher } from '../metrics/metrics.js'
import { createRation } from '../tell/ration.js'
import type { Happening } from '../tell/teller.js'
import type { BreakerState } from './breaker.js'
import type { StoreError } from './store-error.js'

/** How calls are decided without the store. */
export type FailureMode = 'open' | 'closed' | 'local'

/** Tells when decisions begin to be made without the store, how many, and when it answers again. */
export interface Watch {
  failed(error: StoreError, mode: FailureMode): void
  answered(): void
  /** A breaker has opened, or closed again. @param place where it leaves the store alone, if not everywhere */
  turned(state: BreakerState, retryInMs: number, error: StoreError | undefined, place?: string): void
}

const EVERY_MS = 1000
/** A store that comes and goes: so many turns are told at once, further ones one a second. */
const TURNS_AT_ONCE = 5
const CONFIG_FAULT_EVERY_MS = 60_000
/** There are few words by which Redis tells its faults; a store that makes up new ones fills no memory. */
const MOST_CODES = 32

/**
 * Events are limited to one a second, faults of configuration to one a minute, so that an outage floods no log.
 * @param watcher told each time
 */
export function createWatch(
  clock: Clock,
  emit: (event: Happening) => void,
  isClosed: () => boolean,
  watcher?: Pick<Watcher, 'failed' | 'turned'>,
): Watch {
  const turn = createRation(clock, EVERY_MS, TURNS_AT_ONCE)
  const breakerTurn = createRation(clock, EVERY_MS, TURNS_AT_ONCE)
  /** Breakers that are open, by place, and whether that was told. */
  const open = new Map<string | undefined, boolean>()
  const faults = new Map<string, () => number>()
  let sinceMs: number | undefined
  let toldMs = 0
  let calls = 0

  function misconfigured(error: StoreError, mode: FailureMode): void {
    const code = error.code ?? ''
    const ration = faults.get(code) ?? createRation(clock, CONFIG_FAULT_EVERY_MS)
    if (faults.size < MOST_CODES) faults.set(code, ration)
    const told = ration()
    const remedy = error.remedy ?? 'See what check() of the limiter finds.'
    if (told > 0) emit({ type: 'config-fault', mode, problem: error.message, remedy, calls: told, error })
  }

  return {
    failed(error, mode) {
      // An end that was asked for is no failure.
      if (isClosed()) return
      watcher?.failed(error.reason, mode)
      if (error.reason === 'configuration') return misconfigured(error, mode)
      const now = clock.now()
      calls += 1
      if (sinceMs === undefined ? turn() === 0 : now - toldMs < EVERY_MS) return
      sinceMs ??= now
      toldMs = now
      emit({ type: 'degraded', mode, reason: error.reason, calls, error })
      calls = 0
    },
    answered() {
      // Some of it answers while another part is left alone.
      if (sinceMs === undefined || open.size > 0) return
      const afterMs = clock.now() - sinceMs
      sinceMs = undefined
      calls = 0
      emit({ type: 'recovered', afterMs })
    },
    turned(state, retryInMs, error, place) {
      // Its end is told of what was told.
      const told = state === 'open' ? breakerTurn() > 0 : open.get(place) === true
      if (state === 'open') open.set(place, told)
      else open.delete(place)
      watcher?.turned(open.size > 0 ? 'open' : 'closed')
      const where = place === undefined ? {} : { place }
      if (told)
        emit({ type: 'breaker', state, ...where, ...(error && { retryInMs: Math.ceil(retryInMs), error }) })
    },
  }
}
