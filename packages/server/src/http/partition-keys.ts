import type { Limit } from '../decision.js'
import type { PartitionInput } from '../partition.js'
import type { Policy } from '../policy.js'

/** The bytes by which clients tell apart whose units a policy counts, for one call. By the policy's name. */
export type PartitionKeys = ReadonlyMap<string, Uint8Array>

/** As many as the keys of scopes have. */
const BYTES = 8
/** Stands between parts; what is in a part is never read back. */
const BETWEEN = '\x1f'

/**
 * Hashes partitions by a secret (HMAC-SHA-256, the first bytes), so that who reads an answer learns of an identity only
 * whether it is the same as in another answer.
 */
export function createPartitionKeys(
  secret: string,
): (
  policies: readonly Policy[],
  partition: PartitionInput,
  scope: string | undefined,
) => Promise<PartitionKeys> {
  const encoder = new TextEncoder()
  const { subtle } = crypto
  const how = { name: 'HMAC', hash: 'SHA-256' }
  const key = subtle.importKey('raw', encoder.encode(secret), how, false, ['sign'])
  // Whoever asks for a key hears of it.
  key.catch(() => {})

  async function hash(text: string): Promise<Uint8Array> {
    return new Uint8Array(await subtle.sign('HMAC', await key, encoder.encode(text)), 0, BYTES)
  }

  return async (policies, partition, scope) => {
    const record: Readonly<Record<string, string | undefined>> =
      typeof partition === 'object' ? partition : { client: partition }
    const texts = policies.flatMap(({ name, by, perScope }): [string, string][] => {
      const value = record[by]
      if (value === undefined) return []
      const parts = perScope ? [by, value, scope ?? ''] : [by, value]
      return [[name, parts.join(BETWEEN)]]
    })
    return new Map(await Promise.all(texts.map(async ([name, text]) => [name, await hash(text)] as const)))
  }
}

/** Limits with the keys of a call. */
export function withKeys(limits: readonly Limit[], keys: PartitionKeys | undefined): readonly Limit[] {
  if (keys === undefined) return limits
  return limits.map((limit) => {
    const partitionKey = keys.get(limit.policy)
    return partitionKey === undefined ? limit : { ...limit, partitionKey }
  })
}
