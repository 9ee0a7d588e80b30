--[[
  Gives back or takes more of what was charged before, each policy for itself and only where the charge still counts.

  KEYS  one key per policy: the record of a partition, or a log
  ARGV  per policy: its seven arguments (see includes), the mark of the charge (the window in which, or the instant at
        which it was made), what to add (negative: to give back), of a bucket the ticks in use when the charge had been
        made (what has flowed back since cannot be given back)
  Returns the time in microseconds, then 1 for each policy that was changed, else 0
]]
--- @include "includes/now"
--- @include "includes/policy"
--- @include "includes/record"
--- @include "includes/bucket"
--- @include "includes/window"
--- @include "includes/counter"
--- @include "includes/log"

local reply = { now }

-- What is in use after a change: what is taken goes no further than the most, what is given back no lower than 0.
local function in_use_after(used, change, most)
  if change > 0 then
    return math.max(used, math.min(used + change, most))
  end
  return math.max(0, used + change)
end

-- A charge is looked for among so many calls that came after it; beyond that it stays, so that nobody waits.
local FARTHEST = 1000

-- Changes calls of one instant in a log, as many as it takes. Returns 1 if anything was changed, else 0.
local function adjust_log(key, mark, add, policy)
  if mark + policy.length <= now then
    return 0
  end
  local length, left, shift = log_length(key), add, 0
  if add > 0 then
    local used = log_used(key, now, 0, policy)
    left = in_use_after(used, add, policy.bound) - used
  end
  local index = log_first(key, 0, length, function(made)
    return made >= mark
  end)
  if length - index > FARTHEST then
    return 0
  end
  for i = index, length - 1 do
    local made, units, before = log_call(key, i)
    local changed = 0
    if made == mark and left ~= 0 then
      changed = left < -units and -units or left
      left = left - changed
    end
    if changed == 0 and shift == 0 and made ~= mark then
      break
    end
    redis.call('LSET', key, i, pack(CALL, made, units + changed, before + shift))
    shift = shift + changed
  end
  -- What has been given back whole and stands at the end is let go of, so that giving back leaves nothing behind.
  while length > 0 and select(2, log_call(key, -1)) == 0 do
    redis.call('LTRIM', key, 0, -2)
    length = length - 1
  end
  return shift ~= 0 and 1 or 0
end

-- The entry with its change, or nil where the charge does not count any more.
local function adjusted(record, at, mark, add, top, policy)
  local most = policy.bound
  if policy.kind == 'bucket' then
    local level, all = 0, nil
    if at then
      local _
      level, _, _, all = bucket_level(record, at, now, policy)
    end
    all = all or level
    if add < 0 then
      local flowed = now > mark and (now - mark) * policy.rate or 0
      local there = math.max(top - flowed, 0)
      add = math.max(add, -there)
    end
    -- What is given back is that of all which is in use, also of what larger numbers granted.
    local all_after = in_use_after(all, add, most)
    local after = add > 0 and in_use_after(level, add, most) or math.min(level, all_after)
    return (after ~= level or all_after ~= all) and bucket_entry(now, after, policy, all_after) or nil
  elseif policy.kind == 'window' then
    local used, ends, held = window_used(record, at, now, policy)
    if ends == mark then
      local after = in_use_after(used, add, most)
      return after ~= used and window_entry(after, ends, held, policy) or nil
    elseif ends + policy.length == mark then
      -- A call that is held is charged to the window that comes.
      local after = in_use_after(held, add, most)
      return after ~= held and window_entry(used, ends, after, policy) or nil
    end
    return nil
  end
  local current, previous, start, _, ends = counter_used(record, at, now, policy)
  -- What is only given back lasts for no longer than it had.
  ends = add < 0 and ends or nil
  if start == mark then
    local after = in_use_after(current, add, most)
    return after ~= current and counter_entry(after, previous, start, policy, ends) or nil
  elseif start - policy.length == mark then
    local after = in_use_after(previous, add, most)
    return after ~= previous and counter_entry(current, after, start, policy, ends) or nil
  end
  return nil
end

for i = 1, #KEYS do
  local row = (i - 1) * (POLICY + 3) + 1
  local policy, change = policy_at(row), row + POLICY
  local mark, add, top = ARGV[change] + 0, ARGV[change + 1] + 0, ARGV[change + 2] + 0
  if policy.kind == 'log' then
    local _, changed = with_log(KEYS[i], function()
      return adjust_log(KEYS[i], mark, add, policy)
    end)
    reply[i + 1] = changed
  else
    local record = read_record(KEYS[i])
    local at = find_entry(record, policy.id)
    local entry = adjusted(record, at, mark, add, top, policy)
    if entry then
      write_record(KEYS[i], with_entry(record, at, entry), now)
    end
    reply[i + 1] = entry and 1 or 0
  end
end
return reply
