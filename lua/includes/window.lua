-- Fixed windows. An entry has, in place of ticks per unit, the units of calls that are held for the next window; with any
-- it is of two windows.

-- Units used in the window that is now; its end; units held for the next; whether the entry should be written again;
-- whether it could not be believed. A window kept under another length, or before the clock was set back, hands its
-- units on to the window that is now. What a larger quota granted stays, for it is over at the end of the window anyway:
-- were it cut short, a process that still goes by the larger would let it pass again.
local function window_used(record, at, now, policy)
  local length = policy.length
  local fresh = policy.by_first_call and now + length or now - now % length + length
  if not at then
    return 0, fresh, 0, false, false
  end
  local _, ends, start, used, held = unpack_struct(FORMAT, record, at)
  if ends <= now then
    return 0, fresh, 0, false, false
  end
  if ends <= start then
    return 0, fresh, 0, false, true
  end
  if held > 0 then
    local middle = start + math.floor((ends - start) / 2)
    if middle <= now then
      start, used, held = middle, held, 0
    else
      ends = middle
    end
  end
  used, held = math.min(used, LARGEST), math.min(held, LARGEST)
  if start > now or ends - start ~= length or ends - now > length then
    return used, ends < fresh and ends or fresh, held, true, false
  end
  return used, ends, held, false, false
end

-- Units that may still be taken by calls that are held until the next window begins: in all, those that a window grants
-- on the average in the time for which a call may be held. Negative where more are held, by a debt or by who may.
local function window_spare(ends, held, now, policy)
  if ends - now > policy.hold then
    return -held
  end
  local most = policy.most
  if policy.hold < policy.length then
    most = math.floor(most * policy.hold / policy.length)
  end
  return most - held
end

local function window_entry(used, ends, held, policy)
  local length = policy.length
  return pack(FORMAT, policy.id, held > 0 and ends + length or ends, ends - length, used, held)
end
