import { homeText } from '../home.js'
import type { Holder } from '../memory/ledger.js'

/** One text per bucket. Lengths go before what callers choose, so that no two buckets share a key. */
export function bucketKey({ policy, owner }: Holder): string {
  const scope = owner.scope === undefined ? '' : `${owner.scope.length}:${owner.scope}`
  return `${policy.name} ${policy.algorithm} ${homeText(owner)}${owner.kind} ${owner.value.length}:${owner.value}${scope}`
}
