-- Client processes that share buckets, each set under a key of its own: a record of fixed-size entries, the process seen
-- last first. An entry is the hash of a process's name (6 bytes), the millisecond at which it was last admitted (6).
--- @include "includes/digits"

local SEEN, SEEN_SIZE = '>I6I6', 12
local MOST_SEEN = 256
-- One that was seen so shortly before is not written down again (ms).
local FRESH = 500
-- For so long a process counts at least, and at most, after it was seen (ms).
local LEAST_SEEN, LONGEST_SEEN = 2000, 600000

-- The set under a key; what stands there and is none is forgotten.
local function crowd_seen(key)
  local value = try('GET', key)
  if type(value) == 'table' and not value.err:find('WRONGTYPE', 1, true) then
    call('GET', key)
  end
  if type(value) ~= 'string' or #value % SEEN_SIZE ~= 0 or #value > MOST_SEEN * SEEN_SIZE then
    return ''
  end
  return value
end

-- How many of a set count, if three units come back in `three` ms: a process for as long as so many would let it wait
-- between two calls.
local function crowd_count(seen, three, ms)
  for count = #seen / SEEN_SIZE, 1, -1 do
    local _, at = unpack_struct(SEEN, seen, (count - 1) * SEEN_SIZE + 1)
    if ms - at <= math.min(LONGEST_SEEN, math.max(LEAST_SEEN, three * count)) then
      return count
    end
  end
  return 0
end

-- The set with a process that is seen now; whether that must be written. Instants in the future (the clock was set back)
-- count as now.
local function crowd_with(seen, instance, three, ms)
  local all, count = { pack(SEEN, instance, ms) }, 1
  for from = 1, #seen, SEEN_SIZE do
    local one, at = unpack_struct(SEEN, seen, from)
    if one ~= instance then
      if count < MOST_SEEN then
        count = count + 1
        all[count] = at > ms and pack(SEEN, one, ms) or seen:sub(from, from + SEEN_SIZE - 1)
      end
    elseif at <= ms and ms - at < FRESH then
      return seen, false
    end
  end
  local after = table.concat(all)
  return after:sub(1, crowd_count(after, three, ms) * SEEN_SIZE), true
end

-- Tells how many share each bucket under a key, by how long three units take there; notes the process that
-- calls unless that is 0.
local function tell_crowd(key, threes, instance, now, tell)
  local seen, ms, changed = crowd_seen(key), math.floor(now / 1000), false
  if instance > 0 then
    seen, changed = crowd_with(seen, instance, threes.longest, ms)
  end
  if changed then
    local lasts = math.min(LONGEST_SEEN, math.max(LEAST_SEEN, threes.longest * #seen / SEEN_SIZE))
    call('SET', key, seen, 'PX', digits(lasts + FRESH))
  end
  for i = 1, #threes do
    tell(crowd_count(seen, threes[i], ms))
  end
end
