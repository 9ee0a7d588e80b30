/**
 * One text for a limit's name and partition key (`pk`): equal names with equal bytes are one limit. With a key,
 * the length of the name comes first, so that no name can pass for a name with a key.
 */
export function limitKey(policy: string, partitionKey: Uint8Array | undefined): string {
  if (partitionKey === undefined) return `=${policy}`
  let text = `${policy.length}=${policy}`
  for (const byte of partitionKey) text += String.fromCharCode(byte)
  return text
}
