/**
 * One text for a limit's name and partition key (`pk`): equal names with equal bytes are one limit. With a key,
 * the length of the name comes first, so that no name can pass for a name with a key.
 */
export function limitKey({ policy, partitionKey }: Named): string {
  if (partitionKey === undefined) return `=${policy}`
  let text = `${policy.length}=${policy}`
  for (const byte of partitionKey) text += String.fromCharCode(byte)
  return text
}

/** What tells limits apart. */
export interface Named {
  readonly policy: string
  readonly partitionKey?: Uint8Array | undefined
}
