-- Fixed windows.

-- Units used in the window that is now; its end; whether the entry should be written again; whether it could not be
-- believed. A window kept under another length, or before the clock was set back, hands its units on to the window
-- that is now. No debt is above twice the quota.
local function window_used(record, at, now, policy)
  local length, quota = policy.length, policy.most
  local fresh = policy.by_first_call and now + length or now - now % length + length
  if not at then
    return 0, fresh, false, false
  end
  local _, until_us, start, used = unpack_struct(FORMAT, record, at)
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

local function window_entry(used, ends, policy)
  return pack(FORMAT, policy.id, ends, ends - policy.length, used, 0)
end
