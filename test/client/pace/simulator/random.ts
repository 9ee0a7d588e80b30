/** A small seeded generator (mulberry32): numbers from 0 up to, not including, 1. */
export function seeded(seed: number): () => number {
  let state = Math.imul(seed + 1, 0x9e3779b9) >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
