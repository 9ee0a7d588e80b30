import { StoreError } from '../failure/store-error.js'
import type { BucketOwner, Finding } from '../store.js'
import { checkClient } from './check-client.js'
import { checkServer } from './check-server.js'
import type { KnownClient } from './client.js'
import { SLOTS } from './cluster/slot.js'
import type { Connection } from './connection.js'
import { faultOf } from './fault.js'
import type { KeyOptions } from './key.js'
import type { Routes } from './routes.js'
import { blockKey } from './row.js'

/** What is looked at by a check of the store. */
export interface Checked {
  readonly known: KnownClient
  readonly connection: 'own' | 'shared'
  readonly routes: Routes
  readonly keys: KeyOptions
  /** The scripts that are to run. */
  readonly sources: readonly string[]
}

/** Each command of the scripts with harmless words, in an order in which none meets a key of the wrong kind. */
const SAMPLES: readonly (readonly [command: string, words: string])[] = [
  ['TIME', ''],
  ['SET', ", KEYS[1], '0', 'PX', 1000"],
  ['GET', ', KEYS[1]'],
  ['RPUSH', ", KEYS[2], 'a'"],
  ['LLEN', ', KEYS[2]'],
  ['LINDEX', ', KEYS[2], 0'],
  ['LSET', ", KEYS[2], 0, 'b'"],
  ['LTRIM', ', KEYS[2], 0, -1'],
  ['ZADD', ", KEYS[3], 1, 'a'"],
  ['ZCOUNT', ", KEYS[3], '-inf', '+inf'"],
  ['ZRANGEBYSCORE', ", KEYS[3], '-inf', '+inf'"],
  ['ZREVRANGE', ', KEYS[3], 0, 0'],
  ['ZSCORE', ", KEYS[3], 'a'"],
  ['ZREM', ", KEYS[3], 'b'"],
  ['ZREMRANGEBYSCORE', ", KEYS[3], '-inf', 0"],
  ['PEXPIRE', ', KEYS[2], 1000'],
  ['PEXPIRE', ', KEYS[3], 1000'],
  ['DEL', ', KEYS[1], KEYS[2], KEYS[3]'],
]

/** For a connection that is being made. */
const WAIT_MS = 2000
/** For a connection, and all that is asked over it. */
const ANSWER_MS = 2500
const LOOK_EVERY_MS = 10
/** Partitions are made up until there is one on each node; by so many even a node of one slot is found, most often. */
const MOST_MADE_UP = 50_000

/** Looks for what is set up so that a limiter cannot work, or not as it promises. Never rejects. */
export async function checkRedis(checked: Checked): Promise<readonly Finding[]> {
  const { routes, known, connection } = checked
  const seen = checkClient(known, connection)
  const endMs = performance.now() + WAIT_MS
  await until(
    () => routes.nodes().length > 0 || routes.at(spotAt(0, routes).place, undefined) !== undefined,
    endMs,
  )
  const found = await Promise.all(spotsOn(routes).map((spot) => checkSpot(spot, checked, endMs)))
  // What the client is set to shows in what the server says.
  const others = together(found).filter(({ code }) => !seen.some((one) => one.code === code))
  return [...seen, ...others, ...uncovered(routes)]
}

/** A partition of the check's own, and where it is kept. */
interface Spot {
  readonly owner: BucketOwner
  readonly place: number
  readonly node: string | undefined
}

function spotAt(nth: number, routes: Routes): Spot {
  const owner = { kind: 'check', value: nth === 0 ? 'ratepact' : `ratepact-${nth}` }
  const place = routes.placeOf({ kind: 'block', blocks: [owner], ms: 'none' })
  return { owner, place, node: routes.nodeOf(place) }
}

/** One on each node of a Cluster; one where there are no nodes. */
function spotsOn(routes: Routes): readonly Spot[] {
  const nodes = routes.nodes()
  if (nodes.length === 0) return [spotAt(0, routes)]
  const spots = new Map<string, Spot>()
  for (let i = 0; i < MOST_MADE_UP && spots.size < nodes.length; i += 1) {
    const spot = spotAt(i, routes)
    if (spot.node !== undefined && !spots.has(spot.node)) spots.set(spot.node, spot)
  }
  return [...spots.values()]
}

interface Found {
  readonly node: string | undefined
  readonly findings: readonly Finding[]
}

async function checkSpot(spot: Spot, checked: Checked, endMs: number): Promise<Found> {
  const { routes } = checked
  const { place, node } = spot
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<readonly Finding[]>((resolve) => {
    timer = setTimeout(() => resolve([unreachable(silence(ANSWER_MS))]), ANSWER_MS)
  })
  const asked = until(() => routes.at(place, undefined) !== undefined, endMs).then(() => {
    const connection = routes.at(place, undefined)
    return connection === undefined
      ? [unreachable(routes.trouble(place) ?? silence(WAIT_MS))]
      : ask(connection, spot, checked)
  })
  const findings = await Promise.race([asked, late])
  clearTimeout(timer)
  return { node, findings }
}

/** What is found on several nodes is told once. */
function together(found: readonly Found[]): readonly Finding[] {
  const told = new Map<string, { readonly finding: Finding; readonly on: string[] }>()
  for (const { node, findings } of found)
    for (const finding of findings) {
      const name = `${finding.code} ${finding.problem}`
      const known = told.get(name) ?? { finding, on: [] }
      told.set(name, known)
      if (node !== undefined) known.on.push(node)
    }
  return [...told.values()].map(({ finding, on }) =>
    on.length === 0 ? finding : { ...finding, problem: `On ${on.sort().join(', ')}: ${finding.problem}` },
  )
}

async function ask({ link }: Connection, { owner }: Spot, checked: Checked): Promise<readonly Finding[]> {
  const { known, keys, sources } = checked
  const key = blockKey(owner, keys)
  const names = [key, `${key}l`, `${key}z`]
  try {
    const hashed = await link.evalsha('0'.repeat(40), names, []).then(() => undefined, faultOf)
    // Without a key, since a node that does not serve the key of the check can say at least what it is.
    const info = await link.eval(INFO, [], [])
    const findings = typeof info === 'string' ? [...checkServer(info, known)] : [blind()]
    // Neither takes the check's key, and one finding says why.
    if (findings.some(({ code }) => code === 'replica' || code === 'cluster')) return findings
    if (hashed?.code === 'NOPERM') findings.push(refusal(['evalsha']))
    const refused = await link.eval(probe(sources), names, [])
    if (Array.isArray(refused) && refused.length > 0) findings.push(...refusals(refused.map(String)))
    return findings
  } catch (error) {
    const fault = faultOf(error)
    if (fault.code === 'NOPERM') return [refusal(['eval'], fault)]
    return fault.reason === 'configuration' ? [misconfigured(fault)] : [unreachable(fault)]
  }
}

const INFO = `local info = redis.pcall('INFO')
return type(info) == 'table' and info.txt or type(info) == 'string' and info or 0`

/** A script that tries each command that the scripts use, and tells what Redis says against them. */
function probe(sources: readonly string[]): string {
  const used = new Set(
    sources.flatMap((source) => [...source.matchAll(/call\('([A-Z]+)'/g)].map(([, name]) => name)),
  )
  const tries = SAMPLES.filter(([command]) => used.has(command)).map(
    ([command, words]) => `try('${command}'${words})`,
  )
  return `local told = {}
local function try(name, ...)
  local answer = redis.pcall(name, ...)
  if type(answer) == 'table' and answer.err then
    told[#told + 1] = name .. ' ' .. answer.err
  end
end
${tries.join('\n')}
return told`
}

function refusals(refused: readonly string[]): readonly Finding[] {
  const first = faultOf(new Error(refused[0]?.replace(/^[A-Z]+ /, '') ?? ''))
  if (first.reason === 'unready') return [unreachable(first)]
  return [refusal([...new Set(refused.map((told) => told.split(' ', 1)[0]?.toLowerCase() ?? ''))], first)]
}

function refusal(commands: readonly string[], fault?: StoreError): Finding {
  return {
    code: 'permissions',
    severity: 'error',
    problem: `Redis does not let the user of the connection run ${commands.join(', ')}${fault === undefined ? '' : `: ${fault.message}`}`,
    remedy: `Give it the right to: ACL SETUSER … ${commands.map((command) => `+${command}`).join(' ')}, on the keys of the limiter.`,
  }
}

function misconfigured({ code = 'configuration', message, remedy }: StoreError): Finding {
  return {
    code: code.toLowerCase(),
    severity: 'error',
    problem: message,
    remedy: remedy ?? 'See what Redis says.',
  }
}

function blind(): Finding {
  return {
    code: 'info',
    severity: 'warning',
    problem:
      'Redis does not let the user of the connection run INFO: its version, role and eviction policy are not known',
    remedy: 'Give the user +info while you check, or see to these yourself.',
  }
}

/** Slots of a Cluster that nobody has. */
function uncovered(routes: Routes): readonly Finding[] {
  if (routes.nodes().length === 0) return []
  const bare = Array.from({ length: SLOTS }, (_, slot) => slot).filter(
    (slot) => routes.nodeOf(slot) === undefined,
  )
  if (bare.length === 0) return []
  return [
    {
      code: 'coverage',
      severity: 'error',
      problem: `Slots of the Cluster have no master (${bare.length}, the first is ${bare[0]}): what is counted there goes by the mode`,
      remedy: 'See which with redis-cli --cluster check, and give them to a node.',
    },
  ]
}

function unreachable(error: Error): Finding {
  return {
    code: 'unreachable',
    severity: 'error',
    problem: faultOf(error).message,
    remedy:
      'See that Redis runs and can be reached from here, with the address, the password and the TLS that the client has.',
  }
}

function silence(ms: number): StoreError {
  return new StoreError('timeout', `There was no answer from Redis within ${ms} ms`)
}

async function until(isSo: () => boolean, endMs: number): Promise<void> {
  while (!isSo() && performance.now() < endMs)
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
}
