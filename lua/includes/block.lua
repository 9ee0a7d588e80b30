-- Blocks, each under a key of its own: the instant in microseconds at which it ends and how long it was to last, or
-- 'forever'. A block that has ended is none, nor is what cannot be read; neither is kept. When the clock was set back a
-- block does not last longer than it was to.

local LONGEST_BLOCK = 366 * 86400 * 1000000

-- Microseconds that a block still lasts: 0 = it is none, -1 = for ever.
local function block_left(key, now)
  local value = redis.pcall('GET', key)
  if not value then
    return 0
  end
  if type(value) == 'table' and not value.err:find('WRONGTYPE', 1, true) then
    redis.call('GET', key)
  end
  if value == 'forever' then
    return -1
  end
  if type(value) == 'string' then
    local ends, length = value:match('^(%d+) (%d+)$')
    if ends and ends - now > 0 and length + 0 <= LONGEST_BLOCK then
      return math.min(ends - now, length)
    end
  end
  redis.call('DEL', key)
  return 0
end
