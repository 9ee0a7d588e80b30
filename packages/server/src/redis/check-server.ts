import type { Finding } from '../store.js'
import type { KnownClient } from './client.js'

const FLOOR: readonly [number, number] = [6, 2]

/** What a server says of itself that bears on a limiter. @param info the answer to INFO */
export function checkServer(info: string, known: KnownClient): readonly Finding[] {
  const said = fieldsIn(info)
  const findings: Finding[] = []
  const version = said.get('redis_version') ?? ''
  if (version !== '' && isBelow(version, FLOOR))
    findings.push({
      code: 'version',
      severity: 'error',
      problem: `Redis is of version ${version}; the limiter is made for ${FLOOR.join('.')} and newer`,
      remedy: `Update Redis to ${FLOOR.join('.')} or newer.`,
    })
  if (said.get('role') === 'slave')
    findings.push({
      code: 'replica',
      severity: 'error',
      problem: 'The server is a replica, where no call can be charged',
      remedy: 'Give redisStore a client of the master, or one that finds it through Sentinel.',
    })
  if (said.get('cluster_enabled') === '1' && !known.is.endsWith('cluster'))
    findings.push({
      code: 'cluster',
      severity: 'error',
      problem:
        'The server is a node of a Cluster and the client one of a single server: most keys are refused',
      remedy:
        'Give redisStore the Cluster client: new Cluster(nodes) of ioredis, createCluster(…) of node-redis.',
    })
  const policy = said.get('maxmemory_policy') ?? 'noeviction'
  if (policy !== 'noeviction' && said.get('maxmemory') !== '0')
    findings.push({
      code: 'eviction',
      severity: 'warning',
      problem: `${evicts(policy)} (maxmemory-policy ${policy}): who had used up a quota begins afresh, and nobody is told`,
      remedy:
        'Use a Redis whose maxmemory-policy is noeviction, with memory for its clients: when that is full writes fail, which the limiter sees and tells.',
    })
  return findings
}

function evicts(policy: string): string {
  return policy.startsWith('volatile-')
    ? 'When its memory is full Redis drops keys that expire, as all counts do'
    : 'When its memory is full Redis drops keys, counts and blocks among them'
}

function fieldsIn(info: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  for (const line of info.split(/\r?\n/)) {
    const colon = line.indexOf(':')
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1))
  }
  return fields
}

function isBelow(version: string, [major, minor]: readonly [number, number]): boolean {
  const [own = 0, ownMinor = 0] = version.split('.').map(Number)
  return own < major || (own === major && ownMinor < minor)
}
