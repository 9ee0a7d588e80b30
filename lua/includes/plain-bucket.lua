-- The level of a bucket that is as buckets mostly are.
--- @include "includes/now"
--- @include "includes/entry"

-- The ticks in use of the entry at a place of a record, or nil where that is not simply of this bucket by these numbers.
local function plain_level(record, at, id, unit, rate, most)
  local id_then, until_us, written, used, unit_then = unpack_struct(FORMAT, record, at)
  if id_then ~= id or unit_then ~= unit then
    return nil
  end
  if until_us <= now then
    return 0
  end
  local level = used - (now - written) * rate
  if written > now or level > most or until_us - written ~= ceil(used / rate) then
    return nil
  end
  return level > 0 and level or 0
end
