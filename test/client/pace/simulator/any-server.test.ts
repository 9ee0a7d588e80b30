import { describe, expect, it } from 'vitest'
import { play, type Scenario } from './run.js'
import { bucket, fixed, log, replaced } from './servers.js'

interface Row extends Omit<Scenario, 'rttMs' | 'seed'> {
  readonly what: string
  readonly ratio: number
  readonly refused?: number
}

const seeds = [1, 2, 3, 4, 5]

function check({ what: _what, ratio, refused = 0, ...scenario }: Row): void {
  const all = seeds.map((seed) => play({ rttMs: 60, seed, ...scenario }))
  for (const outcome of all) {
    expect(outcome.refused).toBeLessThanOrEqual(refused)
    expect(outcome.ratio).toBeLessThanOrEqual(ratio)
  }
}

describe('one client takes little more time than one that knows everything', () => {
  it.each<Row>([
    { what: 'two buckets', server: () => [bucket(10, 1000), bucket(100, 60_000)], calls: 250, ratio: 1.01 },
    {
      what: 'a bucket and a window',
      server: (random) => [bucket(10, 1000), fixed(100, 60_000, random() * 60_000)],
      calls: 250,
      ratio: 1.02,
    },
    {
      what: 'r and t alone: a bucket',
      server: () => bucket(10, 1000),
      says: 'no-policy',
      calls: 200,
      ratio: 1.12,
    },
    {
      what: 'r and t alone: a window',
      server: (random) => fixed(100, 60_000, random() * 60_000),
      says: 'no-policy',
      calls: 350,
      ratio: 1.02,
    },
    // What a wait of a whole second for a tenth of one costs, and how often a rate that is not stated must be tried out.
    {
      what: 'Retry-After alone: a bucket',
      server: () => bucket(10, 1000),
      says: 'retry-after',
      calls: 200,
      ratio: 1.4,
      refused: 25,
    },
    {
      what: 'Retry-After alone: a window',
      server: (random) => fixed(100, 60_000, random() * 60_000),
      says: 'retry-after',
      calls: 350,
      ratio: 1.15,
      refused: 36,
    },
  ])('with $what', check)
})

describe('a server that changes while it runs', () => {
  // The omniscient one uses at once what a restart gives; a client can only ask when it was told that more would come.
  it.each<Row>([
    {
      what: 'a bucket that is restarted',
      server: () => replaced(bucket(100, 60_000), 40_000, bucket(100, 60_000)),
      calls: 250,
      ratio: 1.03,
    },
    {
      what: 'a window that is restarted',
      server: () => replaced(fixed(100, 60_000), 30_000, fixed(100, 60_000)),
      calls: 350,
      ratio: 1.21,
    },
    {
      what: 'a bucket whose limit is raised',
      server: () => replaced(bucket(10, 1000), 10_000, bucket(50, 1000)),
      calls: 500,
      ratio: 1.03,
    },
    {
      what: 'a bucket whose limit is lowered',
      server: () => replaced(bucket(50, 1000), 5000, bucket(10, 1000)),
      calls: 400,
      ratio: 1.12,
    },
    {
      what: 'a window whose limit is raised',
      server: () => replaced(fixed(10, 10_000), 25_000, fixed(100, 10_000)),
      calls: 300,
      ratio: 1.14,
    },
    {
      what: 'a window whose limit is lowered',
      server: () => replaced(fixed(100, 10_000), 25_000, fixed(10, 10_000)),
      calls: 330,
      ratio: 1.13,
      refused: 7,
    },
  ])('is followed: $what', check)
})

describe('with 200 calls in flight', () => {
  it.each<Pick<Row, 'what' | 'server'>>([
    { what: 'a bucket', server: () => bucket(100, 5000) },
    { what: 'a window', server: (random) => fixed(300, 10_000, random() * 10_000) },
    { what: 'a log', server: () => log(300, 10_000) },
    { what: 'a bucket and a window', server: () => [bucket(100, 5000), fixed(300, 10_000)] },
  ])('no more is sent than $what has stated as available', ({ server }) => {
    for (const seed of seeds) {
      const outcome = play({
        server,
        calls: 1000,
        rttMs: 60,
        mostInFlight: 200,
        strays: 0,
        hints: true,
        seed,
      })
      expect(outcome.refused).toBe(0)
    }
  })
})

describe('one client whose predecessor has spent the quota', () => {
  it.each([
    { what: 'bucket', make: () => bucket(10, 60_000), ratio: 1.3 },
    { what: 'bucket', make: () => bucket(100, 60_000), ratio: 1.05 },
    { what: 'window', make: () => fixed(10, 60_000), ratio: 1.05 },
    { what: 'window', make: () => fixed(100, 60_000), ratio: 1.05 },
    { what: 'log', make: () => log(100, 60_000), ratio: 1.05 },
  ])('is not taken in for long by the first refusal: a $what, at most $ratio', ({ make, ratio }) => {
    const server = () => {
      const spent = make()
      for (let call = 0; call < spent.quota; call += 1) spent.decide(0)
      return spent
    }
    for (const seed of seeds) {
      const outcome = play({ server, calls: 2 * server().quota + 5, rttMs: 60, seed })
      expect(outcome.ratio).toBeLessThanOrEqual(ratio)
      expect(outcome.refused).toBeLessThanOrEqual(2)
    }
  })
})
