-- Sliding window counters.

-- Units of this window and of the one before; start of this window; the estimate: what is left of the window before
-- counts as used; the end of the entry if it should be written again; whether it could not be believed. Counts kept
-- under another length, or before the clock was set back, are handed on to the window that is now, for no longer than
-- they had counted anyway. What a larger quota granted stays.
local function counter_used(record, at, now, policy)
  local length = policy.length
  local start = now - now % length
  if not at then
    return 0, 0, start, 0, nil, false
  end
  local _, until_us, since, current, previous = unpack_struct(FORMAT, record, at)
  if until_us <= now then
    return 0, 0, start, 0, nil, false
  end
  if until_us <= since then
    return 0, 0, start, 0, nil, true
  end
  current, previous = math.min(current, LARGEST), math.min(previous, LARGEST)
  local dated = nil
  if since > now or since % length ~= 0 or until_us - since ~= 2 * length then
    dated = until_us < start + 2 * length and until_us or start + 2 * length
    previous = 0
  elseif since ~= start then
    current, previous = 0, current
  end
  local estimate = ceil(previous * (length - (now - start)) / length) + current
  return current, previous, start, math.min(estimate, LARGEST), dated, false
end

local function counter_entry(current, previous, start, policy, ends)
  return pack(FORMAT, policy.id, ends or start + 2 * policy.length, start, current, previous)
end
