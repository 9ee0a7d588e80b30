/**
 * A rate as a ratio of whole numbers, so that buckets are counted without rounding: a unit is worth
 * `unit` ticks, and `rate` ticks come back every microsecond.
 */
export interface Ticks {
  readonly unit: number
  readonly rate: number
}

const LARGEST = 2 ** 51
const CLOSE = 1e-9

/**
 * The ticks of a bucket. A rate that is a ratio of small numbers is met exactly, any other to far better than
 * 0.1 %, as long as twice the whole capacity still counts exactly in a double.
 * @returns undefined when capacity and rate are too far apart to be counted exactly
 */
export function ticksFor(capacity: number, perSecond: number): Ticks | undefined {
  const microsecondsPerUnit = 1e6 / perSecond
  const most = Math.min(10_000, Math.floor(LARGEST / (capacity * microsecondsPerUnit)))
  if (most < 1) return undefined
  return nearestRatio(microsecondsPerUnit, most)
}

/** The best ratio unit/rate to `value` with rate at most `most`: the convergents of its continued fraction. */
function nearestRatio(value: number, most: number): Ticks {
  let [beforeUnit, beforeRate, unit, rate] = [1, 0, Math.floor(value), 1]
  let rest = value - unit
  while (Math.abs(unit / rate - value) > value * CLOSE && rest > 0) {
    const term = Math.floor(1 / rest)
    const nextRate = term * rate + beforeRate
    if (nextRate > most) break
    rest = 1 / rest - term
    const nextUnit = term * unit + beforeUnit
    ;[beforeUnit, beforeRate, unit, rate] = [unit, rate, nextUnit, nextRate]
  }
  return { unit, rate }
}
