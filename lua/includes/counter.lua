-- Sliding window counters. An entry that was handed on ends sooner than by itself; it has no units of the window before,
-- and in their place, above all that those can be, the length of the window by which it was written.

-- Units of this window and of the one before; start of this window; the estimate: what is left of the window before
-- counts as used; when the entry ends, if that is sooner than by itself; whether it should be written again; whether it
-- could not be believed. Counts kept under another length, or before the clock was set back, are handed on to the window
-- that is now, for no longer than they had counted anyway. What a larger quota granted stays.
local function counter_used(record, at, now, policy)
  local length = policy.length
  local start = now - now % length
  if not at then
    return 0, 0, start, 0, nil, false, false
  end
  local _, until_us, since, current, previous = unpack_struct(FORMAT, record, at)
  if until_us <= now then
    return 0, 0, start, 0, nil, false, false
  end
  if until_us <= since then
    return 0, 0, start, 0, nil, false, true
  end
  current = math.min(current, LARGEST)
  local handed, lasts = previous > LARGEST, until_us - since
  local dated = since > now or since % length ~= 0 or lasts > 2 * length
  if handed then
    dated, previous = dated or previous ~= LARGEST + length, 0
  else
    dated = dated or lasts ~= 2 * length
  end
  local ends = nil
  if dated or handed and since == start then
    previous, ends = 0, math.min(until_us, start + 2 * length)
  elseif since ~= start then
    current, previous = 0, current
  end
  local estimate = ceil(previous * (length - (now - start)) / length) + current
  return current, previous, start, math.min(estimate, LARGEST), ends, dated, false
end

local function counter_entry(current, previous, start, policy, ends)
  local last = start + 2 * policy.length
  if ends and ends < last then
    return pack(FORMAT, policy.id, ends, start, current, LARGEST + policy.length)
  end
  return pack(FORMAT, policy.id, last, start, current, previous)
end
