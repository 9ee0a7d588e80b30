import type { StoreError } from '../failure/store-error.js'
import type { Finding, Op } from '../store.js'
import { checkClient } from './check-client.js'
import { checkServer } from './check-server.js'
import type { KnownClient } from './client.js'
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
const LOOK_EVERY_MS = 10
const OWNER = { kind: 'check', value: 'ratepact' }

/** Looks for what is set up so that a limiter cannot work, or not as it promises. Never rejects. */
export async function checkRedis(checked: Checked): Promise<readonly Finding[]> {
  const seen = checkClient(checked.known, checked.connection)
  const connection = await connected(checked.routes)
  if (connection === undefined) return [...seen, unreachable(checked.routes.trouble(placeIn(checked.routes)))]
  const found = await ask(connection, checked)
  // What the client is set to shows in what the server says.
  return [...seen, ...found.filter(({ code }) => !seen.some((one) => one.code === code))]
}

async function ask({ link }: Connection, { known, keys, sources }: Checked): Promise<readonly Finding[]> {
  const key = blockKey(OWNER, keys)
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

function unreachable(error: Error | undefined): Finding {
  return {
    code: 'unreachable',
    severity: 'error',
    problem:
      error === undefined ? `There was no connection to Redis within ${WAIT_MS} ms` : faultOf(error).message,
    remedy:
      'See that Redis runs and can be reached from here, with the address, the password and the TLS that the client has.',
  }
}

function placeIn(routes: Routes): number {
  const op: Op = { kind: 'block', blocks: [OWNER], ms: 'none' }
  return routes.placeOf(op)
}

/** The connection to the place of the check's keys, once it can be written to. */
async function connected(routes: Routes): Promise<Connection | undefined> {
  const endMs = performance.now() + WAIT_MS
  for (;;) {
    const connection = routes.at(placeIn(routes), undefined)
    if (connection !== undefined || performance.now() > endMs) return connection
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}
