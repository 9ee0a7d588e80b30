-- Ticks in use in the bucket of an entry, now; then whether the entry could not be believed; then whether it was
-- written under other numbers, or later than now because the clock was set back: then it keeps the units that were
-- in use, and should be written again. No debt is above twice the capacity, however it came about.
local function bucket_level(record, at, now, unit, rate, capacity)
  local _, until_us, written, used, unit_then = struct.unpack(FORMAT, record, at)
  if until_us <= now then
    return 0, false, false
  end
  local span = until_us - written
  if span <= 0 or unit_then == 0 then
    return 0, true, false
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
  return level, false, renumbered or written > now
end

local function bucket_entry(id, now, level, unit, rate)
  return struct.pack(FORMAT, id, now + math.ceil(level / rate), now, level, unit)
end
