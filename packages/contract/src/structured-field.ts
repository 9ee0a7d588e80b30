/** A field as HTTP libraries hand it over: one value, one per line, or nothing. */
export type FieldValue = string | readonly string[] | null | undefined

/** The name as it stands on the wire, quotes included. Append `;r=5;t=3` and so on to it. */
export function policyPrefix(name: string): string {
  throw new Error(`not built yet: ${name}`)
}

/** The parameter `;pk=:…:` for these bytes, to append to an item. */
export function partitionKeyParameter(bytes: Uint8Array): string {
  throw new Error(`not built yet: ${bytes}`)
}
