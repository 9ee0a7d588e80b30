-- Token and leaky buckets.

-- Ticks in use, now; whether the entry should be written again, because it was written under other numbers (it keeps
-- the units that were in use) or later than now (the clock was set back), or because it says more than may be in use;
-- whether it says nothing at all; how many ticks are in use with those that larger numbers granted, where there are such.
--
-- More than may be in use is what larger numbers granted. It flows back in the time in which as much as may be in use
-- does, so that nobody waits for longer: an entry of that span with more in it. What is in it stays, so that who still
-- goes by the larger numbers does not let it pass again at once.
local function bucket_level(record, at, now, policy)
  local unit, rate, bound = policy.unit, policy.rate, policy.bound
  local _, until_us, written, used, unit_then = unpack_struct(FORMAT, record, at)
  if until_us <= now then
    return 0, false, false
  end
  local span = until_us - written
  if span <= 0 or unit_then == 0 then
    return 0, false, true
  end
  local elapsed, dated = now > written and now - written or 0, written > now
  local level = used - elapsed * rate
  if unit_then ~= unit or span ~= ceil(used / rate) then
    level = ceil(used * (span - elapsed) / span / unit_then * unit)
    if used > bound and unit_then == unit and span == ceil(bound / rate) then
      return math.max(0, bound - elapsed * rate), dated, false, math.min(level, LARGEST)
    end
    dated = true
  end
  if level > bound then
    return bound, true, false, math.min(level, LARGEST)
  end
  return level > 0 and level or 0, dated, false
end

-- The entry of a bucket with so many ticks in use, and `all` with those that larger numbers granted: both flow back in
-- the same time, so the entry is that of a bucket with as much in use as may be, as long ago as it takes to come to the level.
local function bucket_entry(now, level, policy, all)
  local rate, bound = policy.rate, policy.bound
  local span, since = ceil(bound / rate), math.max(0, math.floor((bound - level) / rate))
  if not all or all <= level or since >= span then
    return pack(FORMAT, policy.id, now + ceil(level / rate), now, level, policy.unit)
  end
  local used = math.min(ceil(all * span / (span - since)), LARGEST)
  return pack(FORMAT, policy.id, now + span - since, now - since, used, policy.unit)
end
