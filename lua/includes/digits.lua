-- A span or an instant in whole milliseconds, rounded up, as it is told to Redis: in digits, since Redis 7.2.0 to 7.2.4
-- write a multiple of 10^8 that a script passes as a number as 1e+8, which they do not read.
local function digits(ms)
  return string.format('%d', math.ceil(ms))
end
