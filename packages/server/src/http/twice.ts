import type { Limiter } from '../limiter.js'
import type { Charged } from './charged.js'
import { seeGuide } from './guide.js'
import type { Warn } from './warn.js'

/** Looks whether the limiters of a request count one thing twice; at each pair of them once. */
export function createTwiceWatch(
  adapter: string,
  limiter: Limiter,
  warn: Warn,
): (earlier: readonly Charged[]) => void {
  const looked = new WeakSet<Limiter>()
  const names = new Set<string>(limiter.policies.map(({ name }) => name))
  return (earlier) => {
    for (const { limiter: other } of earlier) {
      if (looked.has(other)) continue
      looked.add(other)
      const twice = other.policies.find(({ name }) => names.has(name))
      if (twice === undefined) continue
      warn(
        'twice',
        `${adapter}: two limiters on one request have a policy "${twice.name}". With one store and one prefix they count ` +
          `each request twice, and clients cannot tell them apart: give their policies other names.${seeGuide('two-limiters')}`,
      )
    }
  }
}
