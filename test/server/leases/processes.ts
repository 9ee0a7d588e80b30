import type { Advance, FixedWindowPolicy, Op, Reply, TokenBucketPolicy } from '@ratepact/server'
import fc from 'fast-check'
import type { StoreUnderTest } from '../stores/stores.js'
import type { Passed } from './bound.js'

export type Leasable = TokenBucketPolicy | FixedWindowPolicy

/** When their time begins, by the clock of the store too. */
export const START_US = 1_796_000_000_000_000
const owner = { kind: 'client', value: 'a' }

/** One step: time passes, then somebody does something. */
export interface Step {
  readonly us: number
  readonly does: 'consume' | 'drain' | 'spend' | 'renew' | 'give back' | 'crash' | 'refund' | 'reset'
  /** Which of three processes. */
  readonly who: 0 | 1 | 2
  readonly units: number
}

export const steps = (verbs: readonly Step['does'][], size?: 'max'): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.record<Step>({
      // Eighths of a millisecond, which the clocks of both stores count alike.
      us: fc
        .oneof(fc.integer({ min: 0, max: 3200 }), fc.constant(0), fc.integer({ min: 0, max: 32_000 }))
        .map((eighths) => eighths * 125),
      does: fc.constantFrom(...verbs),
      who: fc.constantFrom(0, 1, 2),
      units: fc.integer({ min: 0, max: 30 }),
    }),
    { minLength: 5, maxLength: 80, ...(size && { size }) },
  )

/** What processes do that keep the rules; a reset takes back what others hold. */
export const SOUND = [
  'consume',
  'consume',
  'drain',
  'spend',
  'spend',
  'spend',
  'renew',
  'renew',
  'give back',
  'crash',
  'refund',
] as const

/** What a process knows of the units that it holds. */
interface Held {
  endsUs: number
  units: number
  spent: number
}

/** Processes that keep the rules of an advance, whatever the order in which they act. */
export class Processes {
  readonly passed: Passed[] = []
  readonly said: unknown[] = []
  #nowUs = START_US
  #held: Held[] = [0, 1, 2].map(() => ({ endsUs: 0, units: 0, spent: 0 }))
  #charged: { pass: Passed; mark: number }[] = []
  readonly #under: StoreUnderTest
  readonly #policy: Leasable

  constructor(under: StoreUnderTest, policy: Leasable) {
    this.#under = under
    this.#policy = policy
  }

  async #run(op: Op): Promise<Reply> {
    const [reply] = await this.#under.store.run([op], 20_000)
    this.said.push(reply)
    return reply as Reply
  }

  #pass(units: number): Passed {
    const pass = { atUs: this.#nowUs, units }
    if (units > 0) this.passed.push(pass)
    return pass
  }

  async act({ us, does, who, units }: Step): Promise<void> {
    this.#nowUs += us
    this.#under.advance(us / 1000)
    const held = this.#held[who] as Held
    const policy = this.#policy
    if (does === 'consume') await this.#consume(units)
    else if (does === 'drain') for (const part of [16, 8, 4, 2, 1, 1]) await this.#consume(part)
    else if (does === 'spend') {
      const now = Math.min(units, held.units - held.spent)
      if (this.#nowUs >= held.endsUs || now <= 0) return
      held.spent += now
      this.#pass(now)
    } else if (does === 'renew') await this.#advance(held, true, units)
    else if (does === 'give back') await this.#advance(held, false, 0)
    else if (does === 'crash') this.#held[who] = { endsUs: 0, units: 0, spent: 0 }
    else if (does === 'reset')
      await this.#under.store.run([{ kind: 'reset', charges: [{ policy, owner, cost: 1 }] }], 20_000)
    else await this.#refund()
  }

  /** All that is held is spent, and whatever the store still has is taken: now, and when what was held is good no more. */
  async finish(): Promise<void> {
    for (const us of [0, 1_500_000]) {
      for (const who of [0, 1, 2] as const) await this.act({ us: 0, does: 'spend', who, units: 1e6 })
      await this.act({ us, does: 'drain', who: 0, units: 0 })
    }
  }

  async #consume(units: number): Promise<void> {
    const policy = this.#policy
    const charges = [{ policy, owner, cost: units }]
    const { admitted, readings } = await this.#run({ kind: 'consume', charges, lease: '', blocks: [] })
    if (!admitted) return
    const pass = this.#pass(units)
    this.#charged.push({
      pass,
      mark: policy.algorithm === 'fixed-window' ? (readings[0]?.[1] ?? 0) : this.#nowUs,
    })
  }

  async #advance(held: Held, keep: boolean, want: number): Promise<void> {
    const advance: Advance = {
      policy: this.#policy,
      owner,
      held: { ...held },
      keep,
      want,
      share: 2,
      lastsUs: 1_000_000,
    }
    const { readings } = await this.#run({ kind: 'advance', advance })
    const [given = 0, kept = 0, endsUs = 0] = readings[0] ?? []
    Object.assign(held, { endsUs, units: given + kept, spent: 0 })
  }

  /** Gives back the last call, of which only so much counts as has not flowed back: the least that a bucket may assume. */
  async #refund(): Promise<void> {
    const last = this.#charged.pop()
    if (last === undefined || last.pass.units === 0) return
    const policy = this.#policy
    const { units } = last.pass
    const top = policy.algorithm === 'token-bucket' ? units * policy.ticks.unit : 0
    await this.#run({ kind: 'adjust', changes: [{ policy, owner, units: -units, mark: last.mark, top }] })
    this.passed.splice(this.passed.indexOf(last.pass), 1)
  }
}
