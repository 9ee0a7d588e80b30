--[[
  Begins or ends blocks of partitions.

  KEYS  blocks
  ARGV  'forever', '0' to end them, or how many microseconds they last
  Returns the time in microseconds, then for each key 1 if there was a block before, else 0
]]
--- @include "includes/now"
--- @include "includes/digits"
--- @include "includes/block"

local reply = { now }
for i = 1, #KEYS do
  reply[i + 1] = block_left(KEYS[i], now) ~= 0 and 1 or 0
  if ARGV[1] == 'forever' then
    redis.call('SET', KEYS[i], 'forever')
  elseif ARGV[1] == '0' then
    redis.call('DEL', KEYS[i])
  else
    local block = string.format('%.0f %s', now + ARGV[1], ARGV[1])
    redis.call('SET', KEYS[i], block, 'PX', digits(ARGV[1] / 1000))
  end
end
return reply
