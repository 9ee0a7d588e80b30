export const SLOTS = 16_384

const POLYNOMIAL = 0x1021

/** CRC-16/XMODEM of each byte, as Redis Cluster takes it. */
const TABLE: Uint16Array = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ POLYNOMIAL : crc << 1
  return crc
})

/** The slot of the keys with a tag (Redis Cluster specification, "Key distribution model"). Tags of ours are ASCII. */
export function slotOf(tag: string): number {
  let crc = 0
  for (let i = 0; i < tag.length; i += 1)
    crc = ((crc << 8) ^ (TABLE[((crc >> 8) ^ tag.charCodeAt(i)) & 0xff] ?? 0)) & 0xffff
  return crc % SLOTS
}
