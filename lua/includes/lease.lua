-- Places of calls that run, each policy under a key of its own: a sorted set of leases by the instant at which they
-- end.
--- @include "includes/digits"

-- No place is held for longer (microseconds).
local LONGEST_LEASE = 86400000000

-- An instant as text: every digit counts.
local function instant(us)
  return string.format('%.0f', us)
end

-- The instant at which a lease ends, or nil where there is none, or something else stands under the key.
local function lease_ends(key, name)
  local ends = redis.pcall('ZSCORE', key, name)
  if type(ends) == 'table' then
    if not ends.err:find('WRONGTYPE', 1, true) then
      redis.call('ZSCORE', key, name)
    end
    return nil
  end
  return ends and ends + 0 or nil
end

-- The name of a place: whose it is, the how manieth, and for how long (microseconds) it is held from when it was taken
-- or renewed, which not all that share a key need agree on.
local function place_name(lease, place, length)
  return lease .. ':' .. place .. ':' .. instant(length)
end

-- A place that would be held for longer than it may from now (the clock was set back) is held for just so long.
local function leases_settle(key, now, policy)
  local later = redis.call('ZRANGEBYSCORE', key, '(' .. instant(now + policy.length), '+inf', 'WITHSCORES')
  for i = 1, #later, 2 do
    local length = tonumber(later[i]:match(':(%d+)$'))
    local longest = now + (length and length <= LONGEST_LEASE and length or policy.length)
    if later[i + 1] + 0 > longest then
      redis.call('ZADD', key, instant(longest), later[i])
    end
  end
end

-- Places taken; whether something else stood under the key (which is then gone); when the last of them ends.
local function leases_taken(key, now, policy)
  local function last_end()
    local last = redis.pcall('ZREVRANGE', key, 0, 0, 'WITHSCORES')
    if last.err then
      if not last.err:find('WRONGTYPE', 1, true) then
        redis.call('ZREVRANGE', key, 0, 0)
      end
      redis.call('DEL', key)
      return 0, true
    end
    return last[2] and last[2] + 0 or 0, false
  end
  local last, wrong = last_end()
  if last > now + policy.length then
    leases_settle(key, now, policy)
    last = last_end()
  end
  if last <= now then
    return 0, wrong, 0
  end
  return redis.call('ZCOUNT', key, '(' .. instant(now), '+inf'), wrong, last
end

-- Keeps the key for as long as the last place may be held.
local function leases_live(key, now, last)
  local lasts = math.min(last - now, LONGEST_LEASE)
  redis.call('PEXPIRE', key, digits(lasts / 1000))
end

-- Takes places; `last` is when the last of those ends that are taken.
local function lease_add(key, now, lease, places, policy, last)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', instant(now))
  local ends = now + policy.length
  for place = 1, places do
    redis.call('ZADD', key, instant(ends), place_name(lease, place, policy.length))
  end
  leases_live(key, now, math.max(ends, last))
end
