import { setTimeout as pause } from 'node:timers/promises'
import type { FailureReason } from '@ratepact/server'
import type { Ground } from './ground.js'

/** Something that happens to Redis or on the way to it. */
export interface Fault<G = Ground> {
  readonly name: string
  /**
   * - `outage`: Redis cannot be asked at all
   * - `configuration`: it refuses, and will until somebody changes something
   * - `none`: it is no outage, and nobody must notice
   */
  readonly is: 'outage' | 'configuration' | 'none'
  /** Why, by the events; any of these. */
  readonly reasons?: readonly FailureReason[]
  /** Whether Redis comes back without what it counted. */
  readonly forgets?: boolean
  /** Whether it is over by itself, when those who serve have noticed; `mend` then waits for it. */
  readonly healsItself?: boolean
  prepare?(ground: G): Promise<unknown>
  strike(ground: G): unknown
  mend(ground: G): unknown
}

const real: readonly Fault[] = [
  {
    name: 'Redis killed, started again empty',
    is: 'outage',
    reasons: ['disconnected', 'timeout'],
    forgets: true,
    strike: ({ redis }) => redis.signal('SIGKILL'),
    mend: ({ redis }) => redis.restart(),
  },
  {
    name: 'Redis stopped, continued',
    is: 'outage',
    reasons: ['timeout', 'disconnected'],
    strike: ({ redis }) => redis.signal('SIGSTOP'),
    mend: ({ redis }) => redis.signal('SIGCONT'),
  },
  {
    name: 'CLIENT PAUSE',
    is: 'outage',
    reasons: ['timeout', 'disconnected'],
    healsItself: true,
    // While it lasts Redis hears nobody, who would end it included.
    strike: ({ admin }) => admin.client('PAUSE', 1500),
    mend: ({ admin }) => admin.ping(),
  },
  {
    name: 'SCRIPT FLUSH',
    is: 'none',
    async strike({ admin }) {
      for (let time = 0; time < 20; time += 1) {
        await admin.script('FLUSH')
        await pause(20)
      }
    },
    mend: () => {},
  },
  {
    name: 'out of memory, noeviction',
    is: 'outage',
    reasons: ['unready'],
    strike: ({ admin }) => admin.config('SET', 'maxmemory', '1'),
    mend: ({ admin }) => admin.config('SET', 'maxmemory', '0'),
  },
  {
    name: 'out of memory, allkeys-lru',
    is: 'none',
    forgets: true,
    prepare: ({ admin }) => fill(admin, 'before'),
    async strike({ admin }) {
      const used = Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1])
      await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
      await admin.config('SET', 'maxmemory', String(used - 2_000_000))
      await fill(admin, 'after')
    },
    mend: ({ admin }) => admin.config('SET', 'maxmemory', '0'),
  },
  {
    name: 'REPLICAOF: Redis becomes a replica',
    is: 'outage',
    reasons: ['unready', 'disconnected', 'timeout'],
    strike: ({ admin }) => admin.replicaof('127.0.0.1', 1),
    mend: ({ admin }) => admin.replicaof('NO', 'ONE'),
  },
]

/** A client that frees no memory of its own writes 10 MB in 1 000 keys. */
async function fill(admin: Ground['admin'], name: string): Promise<void> {
  const value = 'x'.repeat(10_000)
  for (let part = 0; part < 10; part += 1)
    await admin.mset(Array.from({ length: 100 }, (_, i) => [`${name}-${part}-${i}`, value]).flat())
}

const onTheWay: readonly Fault[] = [
  {
    name: 'answers come 3 s late',
    is: 'outage',
    reasons: ['timeout', 'disconnected'],
    strike: ({ proxy }) => proxy.delay(3000),
    mend({ proxy }) {
      proxy.delay(0)
      proxy.cut()
    },
  },
  ...(
    [
      ['cut', 'connections cut after the command was written', ['disconnected']],
      ['halve', 'connections cut in the middle of an answer', ['disconnected']],
      ['garble', 'answers that are garbage', ['error', 'disconnected']],
    ] as const
  ).map(
    ([fate, name, reasons]): Fault => ({
      name,
      is: 'outage',
      reasons: [...reasons, 'timeout'],
      strike: ({ proxy }) => proxy.replies(fate),
      mend: ({ proxy }) => proxy.replies('pass'),
    }),
  ),
  {
    name: 'connections accepted, never answered',
    is: 'outage',
    reasons: ['disconnected', 'timeout'],
    strike({ proxy }) {
      proxy.replies('hold')
      proxy.cut()
    },
    // Whoever was accepted goes unanswered for good.
    mend({ proxy }) {
      proxy.mute()
      proxy.replies('pass')
    },
  },
]

/** The service finds itself connected to a server that answers every script with this. */
function answered(line: string, is: 'outage' | 'configuration' = 'outage'): Fault {
  return {
    name: `Redis answers ${line.slice(1)}`,
    is,
    reasons: ['unready', 'disconnected', 'timeout'],
    strike({ fake, proxy }) {
      fake.answer(line)
      proxy.target(fake.port)
      proxy.cut()
    },
    mend({ redis, proxy }) {
      proxy.target(redis.port)
      proxy.cut()
    },
  }
}

const answers: readonly Fault[] = [
  answered('-LOADING Redis is loading the dataset in memory'),
  answered('-MASTERDOWN Link with MASTER is down'),
  answered('-CLUSTERDOWN The cluster is down'),
  answered("-READONLY You can't write against a read only replica."),
  answered(
    "-ERR Error running script (call to f_0123abcd): @user_script:60: -READONLY You can't write against a read only replica.",
  ),
  answered("-OOM command not allowed when used memory > 'maxmemory'."),
  answered('-BUSY Redis is busy running a script.'),
  answered('-NOAUTH Authentication required.'),
  answered("-CROSSSLOT Keys in request don't hash to the same slot", 'configuration'),
  answered("-NOPERM this user has no permissions to run the 'evalsha' command", 'configuration'),
  answered("-ERR unknown command 'EVALSHA'", 'configuration'),
]

/** On every run. */
export const essential: readonly Fault[] = [...real, ...onTheWay]
/** What differs by no more than a word, of which tests beside this suite see to that each is told apart. */
export const more: readonly Fault[] = answers
