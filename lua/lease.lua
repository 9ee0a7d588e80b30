--[[
  Ends leases, or makes them last anew from now.

  KEYS  leases of policies
  ARGV  per key: 'release' or 'renew', name of the lease, number of places, length of a lease in microseconds
  Returns the time in microseconds, then for each key 1 if the lease was there, else 0
]]
--- @include "includes/now"
--- @include "includes/lease"

local reply = { now }
for i = 1, #KEYS do
  local from = (i - 1) * 4
  local verb, lease, length = ARGV[from + 1], ARGV[from + 2], ARGV[from + 4]
  local found = 0
  for place = 1, ARGV[from + 3] do
    local name = place_name(lease, place, length)
    local ends = lease_ends(KEYS[i], name)
    if ends and ends > now then
      found = 1
      if verb == 'release' then
        redis.call('ZREM', KEYS[i], name)
      else
        redis.call('ZADD', KEYS[i], instant(now + length), name)
        leases_live(KEYS[i], now, redis.call('ZREVRANGE', KEYS[i], 0, 0, 'WITHSCORES')[2])
      end
    end
  end
  reply[i + 1] = found
end
return reply
