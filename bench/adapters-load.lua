-- What wrk sends: requests of 10 000 callers, told apart by x-key.
local asked = 0
request = function()
  asked = asked + 1
  return 'GET / HTTP/1.1\r\nHost: bench\r\nX-Key: key-' .. (asked * 7919) % 10000 .. '\r\n\r\n'
end
