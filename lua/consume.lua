--[[
  Decides checks one after another, each for itself. A check asks several policies, of one or of several partitions;
  if all of them have what it needs, and it is to be charged, all are charged, else none is. A refusal writes nothing,
  but for what was kept under other numbers or another clock, which from then on counts by the new ones.

  KEYS  what the checks ask, in the order of the checks: first blocks, then the memory of an id, then records of
        partitions, logs and leases; a key may come again
  ARGV  1, 2             number of checks, first argument of the first
        then per policy  id, kind, three numbers, a fourth (see includes)
        then per check   '1' to charge or '0' to look, name of its lease, number of blocks, for how many
                         milliseconds an admission is remembered ('0': there is no id), number of further keys,
          per key        number of policies,
          per policy     first argument of the policy, what is needed
  Returns the time in microseconds; then for each check: with blocks, how many microseconds the longest lasts (0 none,
  -1 for ever); with an id, 1 if the check repeats an admission that is remembered; what was read of each policy asked,
  before the check. Then the positions (from 1) among the policies asked of those whose stored state could not be believed and was
  begun afresh.
]]
--- @include "includes/now"
--- @include "includes/record"
--- @include "includes/bucket"
--- @include "includes/window"
--- @include "includes/counter"
--- @include "includes/log"
--- @include "includes/lease"
--- @include "includes/block"

-- How often an admission is repeated to who asks again by the same id.
local REPEATS = 3

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
    unbelievable, used, first_at, fits_at, again_at, first, total = with_log(key, function()
      log_settle(key, now, policy)
      return log_used(key, now, need, policy)
    end)
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
      local used, ends, wrong
      used, ends, old, wrong = window_used(record, at, now, policy)
      unbelievable = unbelievable or wrong
      tell(used, ends)
      fits = used + need <= most
    else
      local current, previous, start, estimate, ends, wrong
      current, previous, start, estimate, ends, wrong = counter_used(record, at, now, policy)
      old = ends ~= nil
      notes[asked] = ends
      unbelievable = unbelievable or wrong
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

-- The entry of the nth policy asked, with what was taken.
local function entry_with(policy, nth, taken)
  local word = begins[nth]
  local id, kind = ARGV[policy] + 0, ARGV[policy + 1]
  if kind == 'bucket' then
    return bucket_entry(id, now, reply[word] + taken, policy)
  elseif kind == 'window' then
    return window_entry(id, reply[word] + taken, reply[word + 1], policy)
  end
  -- What is only handed on counts for no longer than it had.
  local ends = taken == 0 and notes[nth] or nil
  return counter_entry(id, reply[word] + taken, reply[word + 1], reply[word + 2], policy, ends)
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
      local entry = entry_with(policy, nth, taken)
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

-- The longest of some blocks; a block for ever is longer than any other.
local function longest_block(key, count)
  local longest = 0
  for i = 1, count do
    local left = block_left(KEYS[key + i], now)
    if left < 0 or (longest >= 0 and left > longest) then
      longest = left
    end
  end
  return longest
end

-- How often the admission of an id has been repeated, or nil where none is remembered.
local function repeats_of(key)
  local value = redis.pcall('GET', key)
  return type(value) == 'string' and tonumber(value) or nil
end

local arg, key = ARGV[2] + 0, 0
for _ = 1, ARGV[1] do
  local wanted, lease, blocks = ARGV[arg] == '1', ARGV[arg + 1], ARGV[arg + 2] + 0
  local remembered, keys = ARGV[arg + 3] + 0, ARGV[arg + 4] + 0
  local first, before, fits, found = arg + 5, asked, true, {}
  local id, repeats = nil, nil
  if blocks > 0 then
    local left = longest_block(key, blocks)
    tell(left)
    wanted = wanted and left == 0
    key = key + blocks
  end
  if remembered > 0 then
    key = key + 1
    id = KEYS[key]
    repeats = wanted and repeats_of(id)
    local again = repeats and repeats < REPEATS
    tell(again and 1 or 0)
    if again then
      redis.call('SET', id, repeats + 1, 'KEEPTTL')
    end
    repeats = again
  end
  arg = first
  for i = 1, keys do
    local fit
    found[i], fit, arg = look_at(KEYS[key + i], arg)
    fits = fits and fit
  end
  if wanted then
    local from, nth = first, before
    for i = 1, keys do
      from, nth = write_at(KEYS[key + i], found[i], from, nth, fits and not repeats, lease)
    end
    if id and fits and not repeats then
      redis.call('SET', id, 0, 'PX', remembered)
    end
  end
  key = key + keys
end

tell(unpack(healed))
return reply
