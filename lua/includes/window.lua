-- Fixed windows. A policy's numbers: length in microseconds, '0' for windows of the calendar or '1' for those that
-- begin with a first call, quota.

-- Units used in the window that is now; its end; whether the entry should be written again; whether it could not be
-- believed. A window kept under another length, or before the clock was set back, hands its units on to the window
-- that is now. No debt is above twice the quota.
local function window_used(record, at, now, policy)
  local length, quota = ARGV[policy + 2] + 0, ARGV[policy + 4] + 0
  local fresh = ARGV[policy + 3] == '0' and now - now % length + length or now + length
  if not at then
    return 0, fresh, false, false
  end
  local _, until_us, start, used = struct.unpack(FORMAT, record, at)
  if until_us <= now then
    return 0, fresh, false, false
  end
  if until_us <= start then
    return 0, fresh, false, true
  end
  if used > 2 * quota then
    used = 2 * quota
  end
  if start > now or until_us - start ~= length or until_us - now > length then
    return used, until_us < fresh and until_us or fresh, true, false
  end
  return used, until_us, false, false
end

local function window_entry(id, used, ends, policy)
  return struct.pack(FORMAT, id, ends, ends - ARGV[policy + 2], used, 0)
end
