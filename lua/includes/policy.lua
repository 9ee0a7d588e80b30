-- A policy as a script is told of it, seven arguments from `at`: id, kind, three numbers, a fourth, the most that may be in
-- use by what is taken after the fact (in ticks or units). What the other numbers mean depends on the kind:
--   bucket   ticks per unit, ticks per microsecond, capacity and queue in ticks
--   window   length in microseconds, 1 where a first call begins it and 0 where the calendar does, quota, for how long
--            (microseconds) calls may be held for the next one
--   counter  length in microseconds, unused, quota
--   log      length in microseconds, unused, quota
--   lease    length in microseconds, unused, limit
local POLICY = 7

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
    bound = ARGV[at + 6] + 0,
  }
end
