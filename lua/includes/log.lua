-- Sliding window logs, each under a key of its own: a list of the calls, oldest first. A call is its instant in
-- microseconds (7 bytes), its units (7), and the units of all calls before it (7), so that what lies between two calls
-- is a difference.
--- @include "includes/digits"

local CALL = '>I7I7I7'
local CALL_SIZE = 21
local DAMAGED = 'no call of a log'
-- More units than can be counted exactly; no log comes to them.
local MOST_UNITS = 2 ^ 52

local function log_call(key, index)
  local call = redis.call('LINDEX', key, index)
  if not call or #call ~= CALL_SIZE then
    error(DAMAGED)
  end
  return unpack_struct(CALL, call)
end

local function log_length(key)
  local length = redis.pcall('LLEN', key)
  if type(length) == 'table' then
    if not length.err:find('WRONGTYPE', 1, true) then
      redis.call('LLEN', key)
    end
    error(DAMAGED)
  end
  return length
end

-- The first of calls `from`.. for which a test holds (it holds for all after), or the number of calls.
local function log_first(key, from, length, test)
  local low, high = from, length
  while low < high do
    local middle = math.floor((low + high) / 2)
    if test(log_call(key, middle)) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

-- Units between two counts of all units before a call.
local function units_between(from, to)
  if to < from or to > MOST_UNITS then
    error(DAMAGED)
  end
  return to - from
end

-- Calls from the future (the clock was set back) count as one made now.
local function log_settle(key, now, policy)
  local length = log_length(key)
  if length == 0 or log_call(key, -1) <= now then
    return
  end
  local index = log_first(key, 0, length, function(made)
    return made > now
  end)
  local _, _, base = log_call(key, index)
  local _, last, before = log_call(key, -1)
  local units = units_between(base, before + last)
  if index == 0 then
    redis.call('DEL', key)
  else
    redis.call('LTRIM', key, 0, index - 1)
  end
  redis.call('RPUSH', key, pack(CALL, now, units, base))
  redis.call('PEXPIRE', key, digits(policy.length / 1000))
end

-- Units used; when the first of them comes back; when `cost` fits; when it would fit again had it been taken; the
-- first call that still counts; the units of all calls.
local function log_used(key, now, cost, policy)
  local window, quota = policy.length, policy.most
  local asked = cost > 1 and cost or 1
  local length = log_length(key)
  local first = log_first(key, 0, length, function(made)
    return made + window > now
  end)
  if first == length then
    return 0, 0, now, cost + asked > quota and now + window or now, first, 0
  end
  local made, own, base = log_call(key, first)
  local _, last, before = log_call(key, -1)
  local used = units_between(base, before + last)
  -- Nothing is refused only while there is a debt.
  if cost == 0 and used > quota then
    asked = 0
  end
  local function back_at(units)
    local index = log_first(key, first, length - 1, function(_, own, prior)
      return prior + own - base >= units
    end)
    return (log_call(key, index)) + window
  end
  local over, again = used + asked - quota, used + cost + asked - quota
  local fits_at = over > 0 and back_at(over) or now
  local again_at = again <= 0 and now or again <= used and back_at(again) or now + window
  -- Of a call that was given back nothing comes back.
  local first_at = own > 0 and made + window or back_at(1)
  return used, first_at, fits_at, again_at, first, before + last
end

-- The same of a log in which no call is from the future; where one is in the midst of others, it is no log of ours.
local function log_look(key, now, cost, policy)
  log_settle(key, now, policy)
  local used, first_at, fits_at, again_at, first, total = log_used(key, now, cost, policy)
  if math.max(first_at, fits_at, again_at) > now + policy.length then
    error(DAMAGED)
  end
  return used, first_at, fits_at, again_at, first, total
end

-- Runs a function over a log; what stands there and is no log is forgotten, and the function run once more. The first
-- result says whether that was so.
local function with_log(key, run)
  local done, a, b, c, d, e, f = pcall(run)
  if done then
    return false, a, b, c, d, e, f
  end
  if type(a) ~= 'string' or not a:find(DAMAGED, 1, true) then
    error(a)
  end
  redis.call('DEL', key)
  return true, run()
end

local function log_add(key, now, cost, first, total, policy)
  if first > 0 then
    redis.call('LTRIM', key, first, -1)
  end
  redis.call('RPUSH', key, pack(CALL, now, cost, total))
  redis.call('PEXPIRE', key, digits(policy.length / 1000))
end
