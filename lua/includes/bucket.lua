-- Token and leaky buckets.

-- Ticks in use, now; whether the entry should be written again, because it was written under other numbers (it keeps
-- the units that were in use) or later than now (the clock was set back), or because it says more than is believed,
-- which has to begin to flow back now; whether it says nothing at all.
local function bucket_level(record, at, now, policy)
  local unit, rate = policy.unit, policy.rate
  local _, until_us, written, used, unit_then = unpack_struct(FORMAT, record, at)
  if until_us <= now then
    return 0, false, false
  end
  local span = until_us - written
  if span <= 0 or unit_then == 0 then
    return 0, false, true
  end
  local elapsed = now > written and now - written or 0
  local level = used - elapsed * rate
  local renumbered = unit_then ~= unit or span ~= ceil(used / rate)
  if renumbered then
    level = ceil(used * (span - elapsed) / span / unit_then * unit)
  end
  local excess = level > policy.believed
  if level < 0 then
    level = 0
  elseif excess then
    level = policy.believed
  end
  return level, renumbered or written > now or excess, false
end

local function bucket_entry(now, level, policy)
  return pack(FORMAT, policy.id, now + ceil(level / policy.rate), now, level, policy.unit)
end
