-- What the script `buckets` is asked.
--- @include "includes/entry"

-- What a shape asks, of which the policies are told from argument `arg` on, each by so many arguments.
local function asks_at(arg, count, each)
  local asks = {}
  for i = 1, 2 * count, 2 do
    local unit, most, all = ARGV[arg + 1] + 0, ARGV[arg + 3] + 0, each == 7
    asks[i] = {
      id = ARGV[arg] + 0,
      unit = unit,
      rate = ARGV[arg + 2] + 0,
      most = most,
      queue = all and ARGV[arg + 5] + 0 or most,
      bound = all and ARGV[arg + 6] + 0 or math.min(2 * most, LARGEST),
    }
    asks[i + 1] = all and ARGV[arg + 4] + 0 or unit
    arg = arg + each
  end
  return asks
end
