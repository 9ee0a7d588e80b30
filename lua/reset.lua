--[[
  Forgets policies of partitions; what else their records hold stays.

  KEYS  records
  ARGV  per record: number of policies, then their ids
  Returns the time in microseconds
]]
--- @include "includes/now"
--- @include "includes/record"

local now = now_us()
local arg = 1
for i = 1, #KEYS do
  local record = read_record(KEYS[i])
  for n = 1, ARGV[arg] do
    local at = find_entry(record, ARGV[arg + n] + 0)
    if at then
      record = record:sub(1, at - 1) .. record:sub(at + ENTRY)
    end
  end
  arg = arg + ARGV[arg] + 1
  write_record(KEYS[i], record, now)
end
return now
