-- Ticks in use in the bucket of an entry, now; the second result says that the entry could not be believed.
-- An entry written under other numbers keeps the units that were in use. An entry from the future (the clock was
-- set back) counts as written now. No debt is above twice the capacity, however it came about.
local function bucket_level(record, at, now, unit, rate, capacity)
  local _, until_us, written, used, unit_then = struct.unpack(FORMAT, record, at)
  if until_us <= now then
    return 0, false
  end
  local span = until_us - written
  if span <= 0 or unit_then == 0 then
    return 0, true
  end
  local elapsed = now > written and now - written or 0
  local level
  if unit_then == unit and span == math.ceil(used / rate) then
    level = used - elapsed * rate
  else
    level = math.ceil(used * (span - elapsed) / span / unit_then * unit)
  end
  if level < 0 then
    return 0, false
  end
  if level > 2 * capacity then
    return 2 * capacity, false
  end
  return level, false
end

local function bucket_entry(id, now, level, unit, rate)
  return struct.pack(FORMAT, id, now + math.ceil(level / rate), now, level, unit)
end
