/** How a call that certainly did not run is sent again. */
export type Detour =
  /** To the same node, with the whole script. */
  | { readonly to: 'same' }
  /** To the node that has the slot now. */
  | { readonly to: 'owner'; readonly slot: number; readonly address: string }
  /** Once to the node that is about to get the slot. */
  | { readonly to: 'next'; readonly address: string }
  /** To the same node, a little later. */
  | { readonly to: 'later' }

/**
 * Reads an error for the proof that nothing ran: only then may a call be sent again. Any other call may have been
 * carried out. Redis Cluster specification, "MOVED Redirection", "ASK Redirection", "Multi-key operations".
 */
export function detourOf(error: unknown): Detour | undefined {
  const message = error instanceof Error ? error.message : ''
  const [word, slot, address] = message.split(' ', 3)
  switch (word) {
    case 'NOSCRIPT':
      return { to: 'same' }
    case 'TRYAGAIN':
      return { to: 'later' }
    case 'MOVED':
      return slot !== undefined && address !== undefined && /^\d{1,5}$/.test(slot)
        ? { to: 'owner', slot: Number(slot), address }
        : undefined
    case 'ASK':
      return address === undefined ? undefined : { to: 'next', address }
    default:
      return undefined
  }
}
