--[[
  Decides checks one after another, each for itself. A check asks several policies, of one or of several partitions;
  if all of them have what it needs, and it is to be charged, all are charged, else none is. A refusal writes nothing,
  but for what was kept under other numbers or another clock, which from then on counts by the new ones.

  KEYS  what the checks ask, in the order of the checks: records of partitions, logs, leases; a key may come again
  ARGV  1, 2             number of checks, first argument of the first
        then per policy  id, kind, three numbers, a fourth (see includes)
        then per check   '1' to charge or '0' to look, name of its lease, number of keys,
          per key        number of policies,
          per policy     first argument of the policy, what is needed
  Returns the time in microseconds; then for each policy asked what was read of it before the check (see readings);
  then the positions (from 1) among the policies asked of those whose stored state could not be believed and was
  begun afresh.
]]
--- @include "includes/now"
--- @include "includes/record"
--- @include "includes/bucket"
--- @include "includes/window"
--- @include "includes/counter"
--- @include "includes/log"
--- @include "includes/lease"

local now = now_us()
local reply = { now }
local asked = 0
local healed = {}
-- Per policy asked: where its reading begins in the reply, whether it must be written again, what else to remember.
local begins, dated, notes = {}, {}, {}

local function tell(...)
  for _, word in ipairs({ ... }) do
    reply[#reply + 1] = word
  end
end

-- Reads one policy. Returns whether what is needed fits.
local function look(key, record, damaged, policy, need)
  local kind, most = ARGV[policy + 1], ARGV[policy + 4] + 0
  local unbelievable, old = damaged, false
  asked = asked + 1
  begins[asked] = #reply + 1
  local fits
  if kind == 'log' then
    local used, first_at, fits_at, again_at, first, total
    unbelievable = log_settle(key, now)
    used, first_at, fits_at, again_at, first, total = log_used(key, now, need, policy)
    notes[asked] = { first, total }
    tell(used, first_at, fits_at, again_at)
    fits = used + need <= most
  elseif kind == 'lease' then
    local taken
    taken, unbelievable = leases_taken(key, now, policy)
    tell(taken)
    fits = taken + need <= most
  else
    local at = find_entry(record, ARGV[policy] + 0)
    if kind == 'bucket' then
      local level = 0
      if at then
        level, old, unbelievable = bucket_level(record, at, now, policy)
      end
      reply[#reply + 1] = level
      fits = level + need <= most and (need == 0 or level <= ARGV[policy + 5] + 0)
    elseif kind == 'window' then
      local used, ends
      used, ends, old = window_used(record, at, now, policy)
      tell(used, ends)
      fits = used + need <= most
    else
      local current, previous, start, estimate
      current, previous, start, estimate, old = counter_used(record, at, now, policy)
      tell(current, previous, start, estimate)
      fits = estimate + need <= most
    end
  end
  dated[asked] = old
  if unbelievable then
    healed[#healed + 1] = asked
  end
  return fits
end

-- The entry of a policy in a record, with what was taken. `word` is where its reading begins.
local function entry_with(policy, word, taken)
  local id, kind = ARGV[policy] + 0, ARGV[policy + 1]
  if kind == 'bucket' then
    return bucket_entry(id, now, reply[word] + taken, policy)
  elseif kind == 'window' then
    return window_entry(id, reply[word] + taken, reply[word + 1], policy)
  end
  return counter_entry(id, reply[word] + taken, reply[word + 1], reply[word + 2], policy)
end

-- Reads the policies under one key. Returns its record, whether all needs fit, the next argument.
local function look_at(key, arg)
  local kind = ARGV[ARGV[arg + 1] + 1]
  local record, damaged = '', false
  if kind ~= 'log' and kind ~= 'lease' then
    record, damaged = read_record(key)
  end
  local fits = true
  for _ = 1, ARGV[arg] do
    if not look(key, record, damaged, ARGV[arg + 1] + 0, ARGV[arg + 2] + 0) then
      fits = false
    end
    arg = arg + 2
  end
  return record, fits, arg + 1
end

-- Writes the policies under one key with what a check takes: all that it needs, or nothing. `nth` counts the policies
-- asked before.
local function write_at(key, record, arg, nth, takes, lease)
  local changed = false
  for _ = 1, ARGV[arg] do
    local policy, taken = ARGV[arg + 1] + 0, takes and ARGV[arg + 2] + 0 or 0
    local kind = ARGV[policy + 1]
    nth = nth + 1
    if kind == 'log' then
      if taken > 0 then
        log_add(key, now, taken, notes[nth][1], notes[nth][2], policy)
      end
    elseif kind == 'lease' then
      if taken > 0 then
        lease_add(key, now, lease, taken, policy)
      end
    elseif taken > 0 or dated[nth] then
      local entry = entry_with(policy, begins[nth], taken)
      local at = find_entry(record, ARGV[policy] + 0)
      record = at and record:sub(1, at - 1) .. entry .. record:sub(at + ENTRY) or record .. entry
      changed = true
    end
    arg = arg + 2
  end
  if changed then
    write_record(key, record, now)
  end
  return arg + 1, nth
end

local arg, key = ARGV[2] + 0, 0
for _ = 1, ARGV[1] do
  local wanted, lease, keys = ARGV[arg] == '1', ARGV[arg + 1], ARGV[arg + 2] + 0
  local first, before, fits, found = arg + 3, asked, true, {}
  arg = first
  for i = 1, keys do
    local fit
    found[i], fit, arg = look_at(KEYS[key + i], arg)
    fits = fits and fit
  end
  if wanted then
    local from, nth = first, before
    for i = 1, keys do
      from, nth = write_at(KEYS[key + i], found[i], from, nth, fits, lease)
    end
  end
  key = key + keys
end

tell(unpack(healed))
return reply
