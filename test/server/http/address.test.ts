import { clientAddress } from '@ratepact/server'
import { describe, expect, it } from 'vitest'

const table: readonly (readonly [given: string, counted: string | undefined, why: string])[] = [
  ['203.0.113.7', '203.0.113.7', 'IPv4 as it is'],
  ['203.0.113.7:51234', '203.0.113.7', 'a port is left out'],
  ['::ffff:203.0.113.7', '203.0.113.7', 'IPv4 mapped, dotted'],
  ['::ffff:cb00:7107', '203.0.113.7', 'IPv4 mapped, hex'],
  ['::FFFF:CB00:7107', '203.0.113.7', 'IPv4 mapped, upper case'],
  ['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.7', 'IPv4 mapped, in full'],
  ['[::ffff:203.0.113.7]:443', '203.0.113.7', 'IPv4 mapped, with brackets and port'],
  ['::ffff:203.0.113.7%eth0', '203.0.113.7', 'IPv4 mapped, with a zone'],
  ['64:ff9b::203.0.113.7', '203.0.113.7', 'IPv4 behind a translator is not one network with all the others'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64', 'IPv6 by its /64'],
  ['2001:DB8:0001:2::ffff', '2001:db8:1:2::/64', 'IPv6 in another spelling'],
  ['2001:db8:1:2::203.0.113.7', '2001:db8:1:2::/64', 'IPv6 that ends dotted is still IPv6'],
  ['64:ff9b::cb00:7107', '203.0.113.7', 'the same in hex'],
  ['[64:ff9b::203.0.113.7]:443', '203.0.113.7', 'the same with brackets and port'],
  ['2001:db8::1.2.3.4', '2001:db8::/64', 'a dotted end and zeros shortened'],
  ['2001:db8:1:2:3:4:1.2.3.4', '2001:db8:1:2::/64', 'a dotted end in full'],
  ['2001:db8:1:2::1.2.3.4%eth0', '2001:db8:1:2::/64', 'a dotted end with a zone'],
  ['::1.2.3.4', '::/64', 'a dotted end that is not mapped'],
  ['::102:304', '::/64', 'the same address in hex is the same client'],
  ['2001:db8:1:3::1', '2001:db8:1:3::/64', 'the next /64 is another client'],
  ['2001:db8::1', '2001:db8::/64', 'zeros are shortened in one way'],
  ['[2001:db8::1]', '2001:db8::/64', 'brackets are left out'],
  ['[2001:db8::1]:443', '2001:db8::/64', 'brackets and port are left out'],
  ['fe80::1%eth0', 'fe80::/64', 'a zone is left out'],
  ['::1', '::/64', 'loopback'],
  ['unknown', undefined, 'a word'],
  ['_hidden', undefined, 'an obfuscated name'],
  ['', undefined, 'nothing'],
  ['203.0.113', undefined, 'too short'],
  ['203.0.113.256', undefined, 'out of range'],
  ['0313.0.113.7', undefined, 'octal'],
  ['0x7f.1', undefined, 'hex'],
  ['2130706433', undefined, 'one number'],
  ['::ffff:203.0.113.256', undefined, 'mapped and out of range'],
  ['::ffff:0x1.2.3.4', undefined, 'mapped and partly hex'],
  ['::ffff:0313.0.113.7', undefined, 'mapped and octal'],
  ['1:2:3:4:5:6:7:1.2.3.4', undefined, 'a dotted end too many'],
  ['1.2.3.4::', undefined, 'a dotted beginning'],
  ['2001:db8::1.2.3.4::', undefined, 'a dotted middle'],
  ['2001:db8::1::2', undefined, 'shortened twice'],
  ['1:2:3:4:5:6:7:8:9', undefined, 'too long'],
  ['[2001:db8::1', undefined, 'a bracket that does not close'],
  ['203.0.113.7%x', undefined, 'a zone on IPv4'],
  ['203.0.113.7, 198.51.100.1', undefined, 'a list'],
  [`2001:db8::1%${'a'.repeat(1000)}`, undefined, 'longer than any address'],
]

describe('clientAddress', () => {
  it.each(table)('counts %j as %j: %s', (given, counted) => {
    expect(clientAddress({ ip: given })).toBe(counted)
    expect(clientAddress({ socket: { remoteAddress: given } })).toBe(counted)
  })

  it("prefers the framework's address to the socket's", () => {
    expect(clientAddress({ ip: '203.0.113.7', socket: { remoteAddress: '198.51.100.1' } })).toBe(
      '203.0.113.7',
    )
  })

  it("does not fall back to a proxy's address when the client's cannot be read", () => {
    expect(clientAddress({ ip: 'unknown', socket: { remoteAddress: '198.51.100.1' } })).toBeUndefined()
  })

  it.each([
    ['no socket', {}],
    ['a socket set to null', { socket: null }],
    ['a socket that is gone or local', { socket: { remoteAddress: undefined } }],
  ])('has no address for %s', (_, request) => {
    expect(clientAddress(request)).toBeUndefined()
  })
})
