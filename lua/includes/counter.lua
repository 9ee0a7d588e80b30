-- Sliding window counters. A policy's numbers: length in microseconds, unused, quota.

-- Units of this window and of the one before; start of this window; the estimate: what is left of the window before
-- counts as used; whether the entry should be written again.
local function counter_used(record, at, now, policy)
  local length = ARGV[policy + 2] + 0
  local start = now - now % length
  if not at then
    return 0, 0, start, 0, false
  end
  local _, until_us, since, current, previous = struct.unpack(FORMAT, record, at)
  if until_us <= now then
    return 0, 0, start, 0, false
  end
  local dated = since > now or since % length ~= 0 or until_us - since ~= 2 * length
  if dated then
    previous = 0
  elseif since ~= start then
    current, previous = 0, current
  end
  local estimate = math.ceil(previous * (length - (now - start)) / length) + current
  return current, previous, start, estimate, dated
end

local function counter_entry(id, current, previous, start, policy)
  return struct.pack(FORMAT, id, start + 2 * ARGV[policy + 2], start, current, previous)
end
