--[[
  Gives units of token buckets and fixed windows to processes ahead of their use, and takes account of those given
  before.

  KEYS  two for each advance: the record of the partition, what is kept of units taken ahead
  ARGV  per advance: the policy (see includes), until when what is held was good, units held, units of those that have
        been used, 1 to keep the others or 0 to give them back, units wanted, one part in how many of what is free may be
        given at most, for how many microseconds at least
  Returns the time in microseconds, then for each advance: units given, units kept, until when they are good, what is
  in use now, 1 if what was held is known no more
]]
--- @include "includes/now"
--- @include "includes/policy"
--- @include "includes/record"
--- @include "includes/bucket"
--- @include "includes/window"
--- @include "includes/advance"

local reply = { now }

local function tell(given, kept, ends, used, lost)
  for _, word in ipairs({ given, kept, ends, used, lost and 1 or 0 }) do
    reply[#reply + 1] = word
  end
end

-- What is given of what is free: whole units.
local function part_of(room, unit, ask)
  return math.min(ask.want, math.max(0, math.floor(room / ask.share / unit)))
end

local function end_of(terms, known, lasts)
  if #terms >= MOST_TERMS then
    return math.max(terms[#terms].ends, known)
  end
  local step = ceil(lasts / 2)
  return ceil((now + lasts) / step) * step
end

local function advance_bucket(record_key, key, policy, ask)
  local unit, rate = policy.unit, policy.rate
  local record = read_record(record_key)
  local at = find_entry(record, policy.id)
  local level, all = 0, nil
  if at then
    local _
    level, _, _, all = bucket_level(record, at, now, policy)
  end
  local own, terms = read_advances(key, level, now, policy)
  local held, known = ask.held * unit, 0
  for i = 1, #terms do
    if terms[i].ends == ask.ends then
      known = terms[i].held
    end
  end
  local there = math.min(held, known)
  local spent = ask.ends > now and ask.spent * unit or 0
  own = own + spent
  local left = ask.keep and math.max(0, there - spent) or 0
  if there > 0 then
    hold(terms, ask.ends, -there)
  end
  local ends = end_of(terms, ask.ends, ask.lasts)
  local others, lasts = held_in(terms), math.max(longest_term(terms, now), ends - now)
  local room = policy.most - own - others - left - lasts * rate
  local given = part_of(room, unit, ask)
  -- Where there is no room to hold units for longer, those that are held stay as they are.
  ends = room >= 0 and ends or ask.ends
  if left + given > 0 then
    hold(terms, ends, left + given * unit)
  end
  local after = own + held_in(terms) + longest_term(terms, now) * rate
  if all and all > level then
    -- Besides, larger numbers granted more: the level is no lower for what is given back of that.
    all = all + after - level
    after = math.min(math.max(after, level), all)
  end
  write_record(record_key, with_entry(record, at, bucket_entry(now, after, policy, all)), now)
  write_advances(key, now, after, own, terms, policy)
  tell(given, math.floor(left / unit), ends, after, known < held)
end

local function advance_window(record_key, policy, ask)
  local record = read_record(record_key)
  local at = find_entry(record, policy.id)
  local used, ends, held = window_used(record, at, now, policy)
  local same = ask.held > 0 and ask.ends == ends
  local lost = same and used < ask.held
  local left = same and not lost and ask.held - ask.spent or 0
  local kept = ask.keep and left or 0
  local after = used - (left - kept)
  local given = part_of(policy.most - after, 1, ask)
  if given + left - kept > 0 then
    write_record(record_key, with_entry(record, at, window_entry(after + given, ends, held, policy)), now)
  end
  tell(given, kept, ends, after + given, lost)
end

local ASK = POLICY + 7
for i = 1, #KEYS / 2 do
  local at = (i - 1) * ASK + 1
  local policy, from = policy_at(at), at + POLICY
  local ask = {
    ends = ARGV[from] + 0,
    held = ARGV[from + 1] + 0,
    spent = ARGV[from + 2] + 0,
    keep = ARGV[from + 3] == '1',
    want = ARGV[from + 4] + 0,
    share = ARGV[from + 5] + 0,
    lasts = ARGV[from + 6] + 0,
  }
  if policy.kind == 'bucket' then
    advance_bucket(KEYS[2 * i - 1], KEYS[2 * i], policy, ask)
  else
    advance_window(KEYS[2 * i - 1], policy, ask)
  end
end
return reply
