-- Blocks, each under a key of its own: the instant in microseconds at which it ends, or 'forever'. A block that has
-- ended is none, whether or not its key is still there; what cannot be read is none.

-- Microseconds that a block still lasts: 0 = it is none, -1 = for ever.
local function block_left(key, now)
  local value = redis.pcall('GET', key)
  if not value then
    return 0
  end
  if type(value) == 'table' then
    if not value.err:find('WRONGTYPE', 1, true) then
      redis.call('GET', key)
    end
    return 0
  end
  if value == 'forever' then
    return -1
  end
  local ends = tonumber(value)
  return ends and ends > now and ends - now or 0
end
