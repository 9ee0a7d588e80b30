import { changed } from '../server/bounds/hand-clock.js'
import type { checks } from './checks.js'

/** A fault made on purpose: what it is, the change to the text of the scripts, and the check that notices it. */
export interface Mutant {
  readonly fault: string
  readonly noticedBy: keyof typeof checks
  /** @throws Error where the scripts no longer have the text to be changed: the fault must then be made anew */
  readonly change: (texts: Readonly<Record<string, string>>) => Readonly<Record<string, string>>
}

function mutant(noticedBy: Mutant['noticedBy'], fault: string, part: string, by: string): Mutant {
  return { fault, noticedBy, change: (texts) => changed(texts, part, by) }
}

const READ = 'record, damaged = read_record(key)'
const SEEN = 'if not seen[key] then seen[key] = { read_record(key) } end record, damaged = unpack(seen[key])'

/** Changes are made to the scripts as they ship: without comments and indents. */
export const mutants: readonly Mutant[] = [
  ...[
    ['a record', ", record, 'PXAT', digits(last / 1000))", ", record, 'EX', 1e9)"],
    ['a record', ", record, 'PXAT', digits(last / 1000))", ', record)'],
    ['a bucket alone', ", unit), 'PXAT', format('%d', ceil(ends / 1000)))", ', unit))'],
    ['buckets alone', ", after, 'PXAT', format('%d', ceil(last / 1000)))", ', after)'],
    ['a log', "redis.call('PEXPIRE', key, digits(policy.length / 1000))", ''],
    ['leases', "redis.call('PEXPIRE', key, digits(lasts / 1000))", ''],
    ['an id', ", repeats), 'PX', digits(lasts / 1000))", ', repeats))'],
    ['a block', ", block, 'PX', digits(ARGV[1] / 1000))", ', block)'],
    ['a set of processes', ", seen, 'PX', digits(lasts + FRESH))", ', seen)'],
    ['what is known of units taken ahead', "(parts), 'PX', digits(lasts / 1000))", '(parts))'],
  ].map(([what, part = '', by = '']) =>
    mutant('keys live no longer than they must', `${what} lives for ever, or nearly`, part, by),
  ),
  ...[
    ['a record', "record, 'PXAT', digits(last /", "record, 'PX', digits((last - now) / 1000 /"],
    [
      'a bucket alone',
      "unit), 'PXAT', format('%d', ceil(ends /",
      "unit), 'PX', format('%d', ceil((ends - now) / 1000 /",
    ],
    [
      'buckets alone',
      "after, 'PXAT', format('%d', ceil(last /",
      "after, 'PX', format('%d', ceil((last - now) / 1000 /",
    ],
    ['buckets alone', 'if ends > last then', 'if ends < last then'],
    ['a log', 'key, digits(policy.length / 1000)', 'key, digits(policy.length / 1000000)'],
    ['leases', 'key, digits(lasts / 1000)', 'key, digits(lasts / 1000000)'],
  ].map(([what, part = '', by = '']) =>
    mutant('keys live for as long as they must', `${what} expires a thousand times too early`, part, by),
  ),
  mutant(
    'a refusal takes nothing',
    'a refused call is charged',
    'takes, nth, instead = wanted and fits and not repeated, before',
    'takes, nth, instead = wanted and not repeated, before',
  ),
  mutant(
    'a refusal takes nothing',
    'a bucket alone is charged by a refused call',
    'need > 0 and level + need <= most and level <= queue then',
    'need > 0 then',
  ),
  mutant(
    'a refusal takes nothing',
    'nothing is ever said to be in use of a bucket alone',
    'return reply or now',
    'return now',
  ),
  mutant(
    'a refusal takes nothing',
    'the last of several buckets decides alone',
    'fits = fits and level + need',
    'fits = level + need',
  ),
  mutant(
    'a refusal takes nothing',
    'the last of several buckets of which one unit is taken decides alone',
    'fits = fits and level + unit',
    'fits = level + unit',
  ),
  mutant(
    'a refusal takes nothing',
    'the last of several partitions decides alone',
    'look_at(KEYS[key + i], shape[i])\nfits = fits and fit',
    'look_at(KEYS[key + i], shape[i])\nfits = fit',
  ),
  mutant(
    'a refusal takes nothing',
    'the last of several policies of a partition decides alone',
    'if not fit then\nif ask.group then\nmisfits[ask.group] = true\nelse\nfits = false\nend\nend\nend',
    'fits = fit\nend',
  ),
  ...(
    [
      ['a shadow is charged for a refused call', 'takes and not misfits[group]', 'not misfits[group]'],
      ['a shadow is charged that refuses', 'takes and not misfits[group]', 'takes'],
      ['a candidate is charged with the others only', '= not remembered and not', '= takes and not'],
      ['a candidate is charged again by an id', '= not remembered and not', '= not'],
      ['a candidate takes places for a refused call', 'if taken > 0 and takes then', 'if taken > 0 then'],
    ] as const
  ).map(([fault, part, by]) => mutant('what is tried takes what it admits, where it may', fault, part, by)),
  ...(
    [
      ['a set of processes grows without end', 'if count < MOST_SEEN then', 'if true then'],
      ['a process is counted that was refused', 'takes and instance or 0', 'instance'],
    ] as const
  ).map(([fault, part, by]) =>
    mutant('processes are counted that were admitted, and so many at most', fault, part, by),
  ),
  ...(
    [
      ['bucket', 'units that others hold are given again', 'own - others - left', 'own - left'],
      ['bucket', 'units held are not in the level', 'own + held_in(terms) + longest', 'own + longest'],
      ['bucket', 'a level does not allow for the time held', ' + longest_term(terms, now) * rate', ''],
      ['bucket', 'units used are forgotten', 'own = own + spent\n', ''],
      ['bucket', 'units that nobody accounts for come back', '- at_us) * rate) + held', '- at_us) * rate)'],
      ['window', 'units used of a window come back', 'used - (left - kept)', 'used - ask.held'],
      ['window', 'more is given than is free', 'part_of(policy.most - after', 'part_of(policy.most'],
      ['window', 'units of a window before are kept', 'and ask.ends == ends', ''],
    ] as const
  ).map(([kind, fault, part, by]) => mutant(`units taken ahead of a ${kind} are counted`, fault, part, by)),
  ...(
    [
      ['held calls are charged to this window', 'reply[word], held + taken', 'used, held'],
      ['calls are held for longer than they may be', 'if ends - now > policy.hold then', 'if false then'],
      ['more is held than comes', 'return most - held', 'return most'],
      ['the next window is another', 'if middle <= now then', 'if false then'],
      [
        'what is held is lost as the next begins',
        'start, used, held = middle, held, 0',
        'start, used, held = middle, 0, 0',
      ],
      [
        'a bucket holds nothing',
        'level + need <= policy.most and (need',
        'level + need <= policy.most - policy.hold and (need',
      ],
    ] as const
  ).map(([fault, part, by]) => mutant('definitions where calls are held', fault, part, by)),
  mutant(
    'clocks of processes do not matter',
    'the time is that of the process that asks',
    "local time = redis.call('TIME')\nlocal now = time[1] * 1000000 + time[2]",
    'local now = ARGV[#ARGV] + 0',
  ),
  mutant('calls at once are counted exactly', 'a key is read once for all checks of a trip', READ, SEEN),
  mutant(
    'damage harms no neighbour',
    'a wrong type in a record is an error',
    "try('GET', key)",
    "call('GET', key)",
  ),
  mutant(
    'damage harms no neighbour',
    'a wrong type in a log is an error',
    "redis.pcall('LLEN', key)",
    "redis.call('LLEN', key)",
  ),
  mutant(
    'blocked calls take nothing',
    'a blocked call is charged',
    'wanted = wanted and left == 0',
    'wanted = wanted',
  ),
  mutant(
    'an id is charged once',
    'a refused call is remembered',
    'if id and (takes or instead) then',
    'if id then',
  ),
  mutant(
    'an id is charged once',
    'an admission is repeated without end',
    'repeats and repeats < REPEATS',
    'repeats ~= nil',
  ),
  mutant('an id is charged once', 'a repeat is charged', 'fits and not repeated, before', 'fits, before'),
  mutant(
    'a clock set back shuts nobody out',
    'an instant in the future is believed',
    'now > written and now - written or 0',
    'now - written',
  ),
  ...(
    [
      ['what larger numbers granted passes again', 'if not all or all <= level or', 'if true or'],
      [
        'the time in which it flows back begins again with each call',
        'used > bound and unit_then',
        'false and unit_then',
      ],
      ['more may be in use than a debt', 'if level > bound then', 'if false then'],
    ] as const
  ).map(([fault, part, by]) =>
    mutant('what larger numbers granted flows back as a debt does', fault, part, by),
  ),
  mutant(
    'a refund gives back what was taken',
    'what has flowed back by itself is given back again',
    'there = math.max(top - flowed, 0)',
    'there = top',
  ),
  ...(
    [
      ['bucket', 'nothing comes back to a bucket alone', '(now - written) * rate', '0'],
      ['bucket', 'a look is a charge', 'need, queue = ARGV[5] + 0', 'need, queue = math.abs(ARGV[5])'],
      ['queue', 'a queue is never too long', 'level <= queue then', 'true then'],
      ['calendar', 'a window ends a µs late', 'if ends <= now then', 'if ends < now then'],
      ['calendar', 'windows begin with calls', 'now - now % length + length', 'now + length'],
      ['from-first', 'windows are those of the calendar', 'policy.by_first_call and now + length or', ''],
      ['log', 'a call counts a µs too long', 'return made + window > now', 'return made + window >= now'],
      ['log', 'a wait is for one unit too many', 'prior + own - base >= units', 'prior + own - base > units'],
      ['counter', 'an estimate is rounded down', '/ length) + current', '/ length - 0.999999999) + current'],
      [
        'counter',
        'the window before does not count',
        'current, previous = 0, current',
        'current, previous = 0, 0',
      ],
      ['places', 'a release frees any place', "'ZREM', KEYS[i], name", "'ZPOPMIN', KEYS[i]"],
      ['places', 'an ended lease can be released', 'ends and ends > now', 'ends'],
      ['places', 'all calls take the same place', "lease .. ':' .. place .. ':'", "'' .. place .. ':'"],
      ['places', 'instants lose digits', "return string.format('%.0f', us)", "return us .. ''"],
    ] as const
  ).map(([kind, fault, part, by]) => mutant(`definitions of ${kind}`, fault, part, by)),
]
