import type { ServiceLimit } from '@ratepact/contract'

/** `t` of a limit in milliseconds, as exactly as it is stated; 0 if it says nothing. */
export function statedMs({ effectiveWindowMs, effectiveWindowSeconds = 0 }: ServiceLimit): number {
  return effectiveWindowMs ?? effectiveWindowSeconds * 1000
}
