-- Token and leaky buckets. A policy's numbers: ticks per unit, ticks per microsecond, capacity and queue in ticks.

-- Ticks in use, now; whether the entry should be written again, because it was written under other numbers (it keeps
-- the units that were in use) or later than now (the clock was set back); whether it could not be believed.
-- No debt is above twice the capacity, however it came about.
local function bucket_level(record, at, now, policy)
  local unit, rate, capacity = ARGV[policy + 2] + 0, ARGV[policy + 3] + 0, ARGV[policy + 4] + 0
  local _, until_us, written, used, unit_then = struct.unpack(FORMAT, record, at)
  if until_us <= now then
    return 0, false, false
  end
  local span = until_us - written
  if span <= 0 or unit_then == 0 then
    return 0, false, true
  end
  local elapsed = now > written and now - written or 0
  local level = used - elapsed * rate
  local renumbered = unit_then ~= unit or span ~= math.ceil(used / rate)
  if renumbered then
    level = math.ceil(used * (span - elapsed) / span / unit_then * unit)
  end
  if level < 0 then
    level = 0
  elseif level > 2 * capacity then
    level = 2 * capacity
  end
  return level, renumbered or written > now, false
end

local function bucket_entry(id, now, level, policy)
  return struct.pack(FORMAT, id, now + math.ceil(level / ARGV[policy + 3]), now, level, ARGV[policy + 2])
end
