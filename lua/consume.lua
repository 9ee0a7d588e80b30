--[[
  Decides checks one after another, each for itself. A check asks several policies, of one or of several partitions;
  if all of them have what it needs, and it is to be charged, all are charged, else none is. A refusal writes nothing,
  but for a bucket kept under other numbers or another clock, which from then on counts by the new ones.

  KEYS  the records that the checks ask, in the order of the checks; a key may come again
  ARGV  1, 2             number of checks, first argument of the first
        then per policy  id, ticks per unit, ticks per microsecond, capacity in ticks
        then per check   '1' to charge or '0' to look, number of records,
          per record     number of policies,
          per policy     first argument of the policy, ticks needed
  Returns the time in microseconds; then for each policy asked its level in ticks before the check; then the
  positions (from 1) among these of policies whose stored state could not be believed and was begun afresh.
]]
--- @include "includes/now"
--- @include "includes/record"
--- @include "includes/bucket"

local now = now_us()
local reply = { now }
local healed = {}
local other = {}
local asked = 0

-- Reads one record and the levels of its policies. Returns the record, whether all needs fit, the next argument.
local function look(key, arg)
  local record, damaged = read_record(key)
  local fits = true
  for _ = 1, ARGV[arg] do
    local policy, need = ARGV[arg + 1] + 0, ARGV[arg + 2] + 0
    local capacity = ARGV[policy + 3] + 0
    local at = find_entry(record, ARGV[policy] + 0)
    local level, unbelievable, others = 0, damaged, false
    if at then
      level, unbelievable, others = bucket_level(record, at, now, ARGV[policy + 1] + 0, ARGV[policy + 2] + 0, capacity)
    end
    asked = asked + 1
    reply[asked + 1] = level
    other[asked] = others
    if unbelievable then
      healed[#healed + 1] = asked
    end
    if level + need > capacity then
      fits = false
    end
    arg = arg + 2
  end
  return record, fits, arg + 1
end

-- Writes a record with what a check takes from its policies: all that it needs, or nothing. `nth` counts the
-- policies asked before.
local function write(key, record, arg, nth, takes)
  local changed = false
  for _ = 1, ARGV[arg] do
    local policy, taken = ARGV[arg + 1] + 0, takes and ARGV[arg + 2] + 0 or 0
    nth = nth + 1
    if taken > 0 or other[nth] then
      local id = ARGV[policy] + 0
      local entry = bucket_entry(id, now, reply[nth + 1] + taken, ARGV[policy + 1], ARGV[policy + 2])
      local at = find_entry(record, id)
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
  local records = ARGV[arg + 1] + 0
  local first, before, fits, found = arg + 2, asked, true, {}
  local wanted = ARGV[arg] == '1'
  arg = first
  for i = 1, records do
    local fit
    found[i], fit, arg = look(KEYS[key + i], arg)
    fits = fits and fit
  end
  if wanted then
    local from, nth = first, before
    for i = 1, records do
      from, nth = write(KEYS[key + i], found[i], from, nth, fits)
    end
  end
  key = key + records
end

for i = 1, #healed do
  reply[asked + 1 + i] = healed[i]
end
return reply
