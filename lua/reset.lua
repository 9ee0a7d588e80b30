--[[
  Forgets policies of partitions; what else their records hold stays.

  KEYS  records, logs, leases, and what is kept of units taken ahead
  ARGV  per key: number of policies, then their ids; what has a key of its own is one policy of id 0
  Returns the time in microseconds
]]
--- @include "includes/now"
--- @include "includes/record"

local arg = 1
for i = 1, #KEYS do
  local key = KEYS[i]
  if ARGV[arg + 1] == '0' then
    redis.call('DEL', key)
  else
    local record = read_record(key)
    for n = 1, ARGV[arg] do
      local at = find_entry(record, ARGV[arg + n] + 0)
      if at then
        record = record:sub(1, at - 1) .. record:sub(at + ENTRY)
      end
    end
    write_record(key, record, now)
  end
  arg = arg + ARGV[arg] + 1
end
return now
