/** The roots of the first primes, by which SHA-256 (FIPS 180-4) begins and mixes: 32 bits of each fraction. */
const PRIMES: readonly number[] = firstPrimes(64)
const BEGINNING: readonly number[] = PRIMES.slice(0, 8).map((prime) => fraction(prime ** (1 / 2)))
const ROUNDS: Int32Array = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)))

/** Units of a text in a block of 64 bytes. */
const BLOCK = 32

/**
 * SHA-256 of a text as big-endian UTF-16, in hexadecimal. For the few long texts that callers choose, in places that run
 * at once and without Node's modules; lone surrogates count as what they are.
 */
export function sha256(text: string): string {
  const hash = Int32Array.from(BEGINNING)
  const words = new Int32Array(64)
  const { length } = text
  let at = 0
  for (; at + BLOCK <= length; at += BLOCK) {
    for (let i = 0; i < 16; i += 1)
      words[i] = (text.charCodeAt(at + 2 * i) << 16) | text.charCodeAt(at + 2 * i + 1)
    mix(hash, words)
  }
  const rest = length - at
  const unitAt = (i: number) => (i < rest ? text.charCodeAt(at + i) : i === rest ? 0x8000 : 0)
  const last = rest + 1 > BLOCK - 4 ? 2 * BLOCK : BLOCK
  for (let from = 0; from < last; from += BLOCK) {
    for (let i = 0; i < 16; i += 1) words[i] = (unitAt(from + 2 * i) << 16) | unitAt(from + 2 * i + 1)
    if (from + BLOCK === last) {
      const bits = length * 16
      words[14] = bits / 2 ** 32
      words[15] = bits
    }
    mix(hash, words)
  }
  return Array.from(hash, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
}

/** Mixes a block, the first 16 of the words, into the hash. */
function mix(hash: Int32Array, words: Int32Array): void {
  for (let i = 16; i < 64; i += 1) {
    const early = words[i - 15] as number
    const late = words[i - 2] as number
    const one = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3)
    const two = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10)
    words[i] = (words[i - 16] as number) + one + (words[i - 7] as number) + two
  }
  // One by one: to take them apart as a list is what would take the time.
  const word = (i: number) => hash[i] as number
  let [a, b, c, d] = [word(0), word(1), word(2), word(3)]
  let [e, f, g, h] = [word(4), word(5), word(6), word(7)]
  for (let i = 0; i < 64; i += 1) {
    const chosen = (e & f) ^ (~e & g)
    const first =
      (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + chosen + (ROUNDS[i] as number) + (words[i] as number)) |
      0
    const most = (a & b) ^ (a & c) ^ (b & c)
    const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + most) | 0
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  hash[0] = word(0) + a
  hash[1] = word(1) + b
  hash[2] = word(2) + c
  hash[3] = word(3) + d
  hash[4] = word(4) + e
  hash[5] = word(5) + f
  hash[6] = word(6) + g
  hash[7] = word(7) + h
}

function turn(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by))
}

function fraction(root: number): number {
  return Math.floor((root % 1) * 2 ** 32) | 0
}

function firstPrimes(count: number): readonly number[] {
  const primes: number[] = []
  for (let number = 2; primes.length < count; number += 1)
    if (primes.every((prime) => number % prime !== 0)) primes.push(number)
  return primes
}
