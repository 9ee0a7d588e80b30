--[[
  Decides checks as the script `consume` does, of which each asks only buckets, under one key: nearly all checks are
  such, and what they need of a script is so little that the rest of it would cost more than they do.

  KEYS  a record per check; a key may come again
  ARGV  1          number of shapes
        2          the shape of each check, one character each, '0' for the first; or '', where all have the first
        per shape  the number of its policies, negative to look and not to charge,
        per policy its id; ticks per unit, ticks per microsecond, capacity and queue in ticks, the most ticks that may be
                   in use by what is taken after the fact; the ticks that are needed
  Returns the time in microseconds; then for each policy asked the ticks in use before the check; then the positions
  (from 1) among the policies asked of those whose stored state could not be believed and was begun afresh
]]
--- @include "includes/now"
--- @include "includes/entry"

local now = now_us()
local reply, nth = { now }, 1

-- One bucket, and the same for all: what follows below would cost more than these checks do, so they are done before
-- any of it is so much as defined. The first key under which there is anything but this bucket ends it.
if ARGV[1] == '1' and (ARGV[3] == '1' or ARGV[3] == '-1') then
  local id, unit, rate, most, queue = ARGV[4] + 0, ARGV[5] + 0, ARGV[6] + 0, ARGV[7] + 0, ARGV[8] + 0
  local need, takes = ARGV[10] + 0, ARGV[3] == '1'
  local key = KEYS[1]
  while key do
    local value, level = try('GET', key), 0
    if value then
      if type(value) ~= 'string' or #value ~= ENTRY then
        break
      end
      local id_then, until_us, written, used, unit_then = unpack_struct(FORMAT, value)
      if id_then ~= id or unit_then ~= unit then
        break
      end
      if until_us > now then
        level = used - (now - written) * rate
        if written > now or level > most or until_us - written ~= ceil(used / rate) then
          break
        end
        if level < 0 then
          level = 0
        end
      end
    end
    nth = nth + 1
    reply[nth] = level
    if takes and need > 0 and level + need <= most and level <= queue then
      local after = level + need
      local lasts = ceil(after / rate)
      call('SET', key, pack(FORMAT, id, now + lasts, now, after, unit), 'PX', ceil(lasts / 1000))
    end
    key = KEYS[nth]
  end
  if not key then
    return reply
  end
end

--- @include "includes/record"
--- @include "includes/bucket"

local words, healed = nth, {}

-- One check: asks are its policies, each followed by what is needed.
local function check(key, asks, wanted)
  local record, damaged = read_record(key)
  local before, fits, again, olds = words, true, false, nil
  for i = 1, #asks, 2 do
    local policy, need = asks[i], asks[i + 1]
    local at, level, old, wrong, more = find_entry(record, policy.id), 0, false, damaged, nil
    if at then
      level, old, wrong, more = bucket_level(record, at, now, policy)
    end
    words = words + 1
    reply[words] = level
    fits = fits and level + need <= policy.most and (need == 0 or level <= policy.queue)
    if old then
      olds = olds or {}
      olds[i] = more or true
    end
    if wrong then
      healed[#healed + 1] = words - 1
    end
  end
  if not wanted or not (fits or olds) then
    return
  end
  for i = 1, #asks, 2 do
    local policy, taken = asks[i], fits and asks[i + 1] or 0
    local old = olds and olds[i]
    if taken > 0 or old then
      local more = taken == 0 and old ~= true and old or nil
      local entry = bucket_entry(now, reply[before + (i + 1) / 2] + taken, policy, more)
      record = with_entry(record, find_entry(record, policy.id), entry)
      again = true
    end
  end
  if again then
    write_record(key, record, now)
  end
end

local shapes, arg = {}, 3
for shape = 1, ARGV[1] do
  local count = ARGV[arg] + 0
  local asks = { wanted = count > 0 }
  arg = arg + 1
  for i = 1, 2 * math.abs(count), 2 do
    asks[i] = {
      id = ARGV[arg] + 0,
      unit = ARGV[arg + 1] + 0,
      rate = ARGV[arg + 2] + 0,
      most = ARGV[arg + 3] + 0,
      queue = ARGV[arg + 4] + 0,
      bound = ARGV[arg + 5] + 0,
    }
    asks[i + 1] = ARGV[arg + 6] + 0
    arg = arg + 7
  end
  shapes[shape] = asks
end
for i = nth, #KEYS do
  local asks = shapes[(ARGV[2]:byte(i) or 48) - 47]
  check(KEYS[i], asks, asks.wanted)
end
for i = 1, #healed do
  reply[words + i] = healed[i]
end
return reply
