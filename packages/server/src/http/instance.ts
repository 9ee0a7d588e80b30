/** The request header in which a client process tells of itself, in lower case. */
export const INSTANCE = 'ratepact-instance'

/** 64 bits in hexadecimal take 16; whoever has another way to name processes may take a few more. */
const NAME = /^[!-~]{1,64}$/

/** What a header names; undefined for anything but a short name, since anybody may send anything. */
export function instanceIn(value: string | string[] | null | undefined): string | undefined {
  return typeof value === 'string' && NAME.test(value) ? value : undefined
}
