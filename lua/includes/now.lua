-- The only clock: the server's own, in microseconds.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
