-- Places of calls that run, each policy under a key of its own: a sorted set of leases by the instant at which they
-- end.

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

-- Places taken; whether something else stood under the key (which is then gone). A lease that would last longer than
-- a lease (the clock was set back) is cut.
local function leases_taken(key, now, policy)
  local last = redis.pcall('ZREVRANGE', key, 0, 0, 'WITHSCORES')
  if last.err then
    if not last.err:find('WRONGTYPE', 1, true) then
      redis.call('ZREVRANGE', key, 0, 0)
    end
    redis.call('DEL', key)
    return 0, true
  end
  if not last[1] then
    return 0, false
  end
  local longest = now + policy.length
  if last[2] + 0 > longest then
    for _, lease in ipairs(redis.call('ZRANGEBYSCORE', key, '(' .. instant(longest), '+inf')) do
      redis.call('ZADD', key, instant(longest), lease)
    end
  end
  return redis.call('ZCOUNT', key, '(' .. instant(now), '+inf'), false
end

local function lease_add(key, now, lease, places, policy)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', instant(now))
  for place = 1, places do
    redis.call('ZADD', key, instant(now + policy.length), lease .. ':' .. place)
  end
  redis.call('PEXPIRE', key, math.ceil(policy.length / 1000))
end
