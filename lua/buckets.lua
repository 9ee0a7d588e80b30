--[[
  Decides checks as the script `consume` does, of which each asks only buckets, under one key: nearly all checks are
  such, and what they need of a script is so little that the rest of it would cost more than they do.

  KEYS  a record per check; a key may come again
  ARGV  where all checks ask the same one bucket:
        1 to 4     its id; ticks per unit, ticks per microsecond, capacity in ticks
        5 to 7     the ticks that are needed, negative to look and not to charge; queue in ticks; the most ticks that may
                   be in use by what is taken after the fact. Not there where they are one unit, the capacity, and twice
                   that (LARGEST at most).
        else:
        1          ''
        2          number of shapes
        3          the shape of each check, one character each, '0' for the first; or '', where all have the first
        per shape  the number of its policies, negative to look and not to charge; how many arguments each has, 4 or 7,
        per policy its arguments, as above
  Returns the time in microseconds; then for each policy asked the ticks in use before the check; then the positions
  (from 1) among the policies asked of those whose stored state could not be believed and was begun afresh. Where all
  checks ask the same one bucket, of which nothing is in use for any of them: the time alone, and no list.
]]
--- @include "includes/now"
--- @include "includes/entry"

-- How many checks are done; how many policies each of them asks; the reply, once there is more to it than the time.
local done, count, reply = 0, 1, nil

-- Where all checks ask the same one bucket, or one unit each of the same buckets, what follows below would cost more than
-- these checks do, so they are done before any of it is so much as defined; also what `plain_level` tells is found out
-- here by itself first. The first key under which there is anything but these buckets ends it.
local key = KEYS[1]
if ARGV[1] ~= '' then
  local id, unit, rate, most = ARGV[1] + 0, ARGV[2] + 0, ARGV[3] + 0, ARGV[4] + 0
  local need, queue = unit, most
  if ARGV[7] then
    need, queue = ARGV[5] + 0, ARGV[6] + 0
  end
  while key do
    local record, level = try('GET', key), 0
    if record then
      if type(record) ~= 'string' or #record ~= ENTRY then
        break
      end
      local id_then, until_us, written, used, unit_then = unpack_struct(FORMAT, record)
      if id_then ~= id or unit_then ~= unit then
        break
      end
      if until_us > now then
        level = used - (now - written) * rate
        if written > now or level > most or until_us - written ~= ceil(used / rate) then
          break
        end
        if level <= 0 then
          level = 0
        elseif not reply then
          reply = { now, 0 }
          for i = 1, done do
            reply[i + 1] = 0
          end
        end
      end
    end
    done = done + 1
    if reply then
      reply[done + 1] = level
    end
    if need > 0 and level + need <= most and level <= queue then
      local after = level + need
      local ends = now + ceil(after / rate)
      call('SET', key, pack(FORMAT, id, ends, now, after, unit), 'PXAT', format('%d', ceil(ends / 1000)))
    end
    key = KEYS[done + 1]
  end
  if not key then
    return reply or now
  end
end

--- @include "includes/plain-bucket"

if ARGV[1] == '' and ARGV[2] == '1' and ARGV[5] == '4' and ARGV[4] + 0 > 0 then
  count, reply = ARGV[4] + 0, { now }
  while key do
    local record, fits, words = try('GET', key), true, 1 + done * count
    if record and (type(record) ~= 'string' or #record ~= count * ENTRY) then
      break
    end
    local known = true
    for i = 1, count do
      local arg, level = 2 + 4 * i, 0
      local unit, most = ARGV[arg + 1] + 0, ARGV[arg + 3] + 0
      if record then
        level = plain_level(record, 1 + (i - 1) * ENTRY, ARGV[arg] + 0, unit, ARGV[arg + 2] + 0, most)
      end
      if not level then
        known = false
        break
      end
      reply[words + i] = level
      fits = fits and level + unit <= most
    end
    if not known then
      break
    end
    if fits then
      local after, last = '', now
      for i = 1, count do
        local arg = 2 + 4 * i
        local level = reply[words + i] + ARGV[arg + 1]
        local ends = now + ceil(level / ARGV[arg + 2])
        after = after .. pack(FORMAT, ARGV[arg], ends, now, level, ARGV[arg + 1])
        if ends > last then
          last = ends
        end
      end
      call('SET', key, after, 'PXAT', format('%d', ceil(last / 1000)))
    end
    done = done + 1
    key = KEYS[done + 1]
  end
end
if not key then
  return reply
end

--- @include "includes/record"
--- @include "includes/bucket"
--- @include "includes/bucket-asks"

local words, healed = 1 + done * count, {}
if not reply then
  reply = { now }
  for i = 2, words do
    reply[i] = 0
  end
end

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

local shapes = {}
if ARGV[1] ~= '' then
  local asks = asks_at(1, 1, ARGV[7] and 7 or 4)
  asks.wanted = asks[2] >= 0
  shapes[1] = asks
else
  local arg = 4
  for shape = 1, ARGV[2] do
    local count, each = ARGV[arg] + 0, ARGV[arg + 1] + 0
    local asks = asks_at(arg + 2, math.abs(count), each)
    asks.wanted = count > 0
    shapes[shape] = asks
    arg = arg + 2 + math.abs(count) * each
  end
end
local shaped = ARGV[1] == '' and ARGV[3] or ''
for i = done + 1, #KEYS do
  local asks = shapes[(shaped:byte(i) or 48) - 47]
  check(KEYS[i], asks, asks.wanted)
end
for i = 1, #healed do
  reply[words + i] = healed[i]
end
return reply
