-- A policy as a script is told of it, six arguments from `at`: id, kind, three numbers, a fourth. What the numbers mean
-- depends on the kind:
--   bucket   ticks per unit, ticks per microsecond, capacity and queue in ticks
--   window   length in microseconds, 1 where a first call begins it and 0 where the calendar does, quota, for how long
--            (microseconds) calls may be held for the next one
--   counter  length in microseconds, unused, quota
--   log      length in microseconds, unused, quota
--   lease    length in microseconds, unused, limit
local POLICY = 6

local function policy_at(at)
  local first, fourth = ARGV[at + 2] + 0, ARGV[at + 5] + 0
  return {
    id = ARGV[at] + 0,
    kind = ARGV[at + 1],
    unit = first,
    length = first,
    rate = ARGV[at + 3] + 0,
    by_first_call = ARGV[at + 3] == '1',
    most = ARGV[at + 4] + 0,
    queue = fourth,
    hold = fourth,
  }
end
