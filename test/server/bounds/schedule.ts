import fc from 'fast-check'

/** How far the clock is moved before something is asked. */
export type Move =
  /** By thousandths of the span of one of the rules, or by single µs. */
  | { readonly kind: 'by'; readonly rule: number; readonly share: number }
  | { readonly kind: 'us'; readonly us: number }
  /** To the next whole multiple of a rule's span, or just beside it. */
  | { readonly kind: 'edge'; readonly rule: number; readonly off: -1 | 0 | 1 }
  /** By the span of a rule, or a µs beside it: to when a call that was made just now counts no more. */
  | { readonly kind: 'span'; readonly rule: number; readonly off: -1 | 0 | 1 }
  /** By the wait that the last refusal stated, or a µs less. */
  | { readonly kind: 'obey'; readonly off: -1 | 0 }

export interface Step {
  readonly move: Move
  /** `drain` uses up what is said to be left, unit by unit. */
  readonly verb: 'consume' | 'peek' | 'drain' | 'release' | 'renew'
  readonly who: 'a' | 'b'
  readonly cost: number
  /** Which of the decisions made before is released or renewed, counted from the newest. */
  readonly back: number
}

const moves = fc.oneof(
  fc.constant<Move>({ kind: 'us', us: 0 }),
  fc.record({ kind: fc.constant('us' as const), us: fc.nat(3) }),
  fc.record({ kind: fc.constant('by' as const), rule: fc.nat(2), share: fc.nat(100) }),
  fc.record({ kind: fc.constant('by' as const), rule: fc.nat(2), share: fc.nat(400) }),
  fc.record({ kind: fc.constant('by' as const), rule: fc.nat(2), share: fc.nat(2200) }),
  fc.record({ kind: fc.constant('edge' as const), rule: fc.nat(2), off: fc.constantFrom(-1, 0, 1) }),
  fc.record({ kind: fc.constant('span' as const), rule: fc.nat(2), off: fc.constantFrom(-1, 0, 1) }),
  fc.record({ kind: fc.constant('obey' as const), off: fc.constantFrom(-1, 0) }),
) as fc.Arbitrary<Move>

const verbs = ['consume', 'consume', 'consume', 'consume', 'consume', 'peek', 'drain'] as const

/** @param places whether there is something to release and renew */
export function schedules(places: boolean): fc.Arbitrary<readonly Step[]> {
  const step = fc.record<Step>({
    move: moves,
    verb: fc.constantFrom(...verbs, ...(places ? (['release', 'release', 'renew'] as const) : [])),
    who: fc.constantFrom('a', 'a', 'b'),
    cost: fc.constantFrom(0, 1, 1, 1, 2, 3, 5, 13),
    back: fc.nat(4),
  })
  return fc.array(step, { minLength: 1, maxLength: 30, size: 'max' })
}
