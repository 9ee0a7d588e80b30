-- The reading and writing of what is stored under one key.
--- @include "includes/entry"
--- @include "includes/digits"

-- The record under a key, '' where there is none. A value of another type or length is no record: the second
-- result says so. Any other error is the server's and is raised.
local function read_record(key)
  local value = try('GET', key)
  if not value then
    return '', false
  end
  if type(value) == 'table' then
    if not value.err:find('WRONGTYPE', 1, true) then
      call('GET', key)
    end
    return '', true
  end
  if #value % ENTRY ~= 0 or #value > MOST_ENTRIES * ENTRY then
    return '', true
  end
  return value, false
end

-- Where the entry of a policy begins in a record, or nil.
local function find_entry(record, id)
  for at = 1, #record, ENTRY do
    if unpack_struct('>I6', record, at) == id then
      return at
    end
  end
  return nil
end

-- A record with an entry in its place: `at`, or the end. One that is full gives up its first.
local function with_entry(record, at, entry)
  if not at then
    return (#record < MOST_ENTRIES * ENTRY and record or record:sub(ENTRY + 1)) .. entry
  end
  return record:sub(1, at - 1) .. entry .. record:sub(at + ENTRY)
end

-- Two windows last no longer (microseconds), and a bucket no longer than it has ticks in use.
local LONGEST_WINDOWS = 63244800000000

local function is_over(until_us, since, used, now)
  return until_us <= now or until_us <= since or used > LARGEST or until_us - since > math.max(used, LONGEST_WINDOWS)
end

-- Writes a record without the entries that say nothing, to live as long as the last one says something: one from the
-- future (the clock was set back) for as long from now as it would from then. A record with none is deleted. (A record in
-- which a wrong type stood is overwritten.)
local function write_record(key, record, now)
  local last, at = now, 1
  while at <= #record do
    local _, until_us, since, used = unpack_struct(FORMAT, record, at)
    if is_over(until_us, since, used, now) then
      record = record:sub(1, at - 1) .. record:sub(at + ENTRY)
    else
      last = math.max(last, since > now and now + until_us - since or until_us)
      at = at + ENTRY
    end
  end
  if last == now then
    call('DEL', key)
  else
    call('SET', key, record, 'PXAT', digits(last / 1000))
  end
end
