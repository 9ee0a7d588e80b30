--[[
  Decides checks one after another, each for itself. A check asks several policies, of one or of several partitions;
  if all of them have what it needs, and it is to be charged, all are charged, else none is. A refusal writes nothing,
  but for what was kept under other numbers or another clock, which from then on counts by the new ones.
  Checks that ask the same of other partitions have one shape, which is told once.
  Besides, a check may try policies out, in groups that are judged each for itself and change nothing for the rest.

  KEYS  what the checks ask, in the order of the checks: first blocks, then the memory of an id, then records of
        partitions, logs and leases, then crowds; a key may come again
  ARGV  1                the shape of each check, one character each, '0' for the first
        2, 3             first argument of the shapes, first argument of the names
        then per policy  seven arguments (see includes)
        then per shape   '1' to charge or '0' to look, and one character for each group that is tried: 'b' if it is
                         charged beside the check, where that is, or 'i' if it is instead, whatever becomes of the check;
                         '1' if its checks have a lease name, number of blocks, for how many milliseconds an admission
                         is remembered ('0': there is no id), number of keys of policies, number of crowds,
          per key        number of policies,
          per policy     first argument of the policy, what is needed; and where groups are tried, the number of its
                         group, '0' for the check itself,
          per crowd      number of policies,
          per policy     in how many milliseconds three units come back to it
        then per check   the name of its lease, if it has one; if it asks for crowds, who calls ('0': nobody knows)
  Returns the time in microseconds; then for each check: with blocks, how many microseconds the longest lasts (0 none,
  -1 for ever); with an id, 1 if the check repeats an admission that is remembered, 2 if a group was charged instead of
  it before; what was read of each policy asked, before the check; for each crowd, how many share each of its policies,
  after the check. Then the positions (from 1) among the policies asked of those whose stored state could not be believed
  and was begun afresh.
]]
--- @include "includes/now"
--- @include "includes/policy"
--- @include "includes/record"
--- @include "includes/bucket"
--- @include "includes/window"
--- @include "includes/counter"
--- @include "includes/log"
--- @include "includes/lease"
--- @include "includes/block"
--- @include "includes/crowd"

-- How often an admission is repeated to who asks again by the same id.
local REPEATS = 3

local reply, words = { now }, 1
local asked = 0
local healed = {}
-- Per policy asked: where its reading begins in the reply, whether it must be written again, what else to remember.
local begins, dated, notes = {}, {}, {}

local function tell(word)
  words = words + 1
  reply[words] = word
end

-- Reading of each kind of policy: tells what is in use; returns whether `need` fits, whether the entry must be written
-- again, whether it could not be believed.
local look = {}

function look.bucket(key, record, policy, need)
  local at = find_entry(record, policy.id)
  local level, old, wrong = 0, false, false
  if at then
    level, old, wrong, notes[asked] = bucket_level(record, at, now, policy)
  end
  tell(level)
  return level + need <= policy.most and (need == 0 or level <= policy.queue), old, wrong
end

function look.window(key, record, policy, need)
  local used, ends, held, old, wrong = window_used(record, find_entry(record, policy.id), now, policy)
  notes[asked] = held
  tell(used)
  tell(ends)
  local spare = window_spare(ends, held, now, policy)
  tell(spare)
  return used + need <= policy.most or need > 0 and need <= spare, old, wrong
end

function look.counter(key, record, policy, need)
  local at = find_entry(record, policy.id)
  local current, previous, start, estimate, ends, old, wrong = counter_used(record, at, now, policy)
  notes[asked] = ends
  tell(current)
  tell(previous)
  tell(start)
  tell(estimate)
  return estimate + need <= policy.most, old, wrong
end

function look.log(key, record, policy, need)
  local wrong, used, first_at, fits_at, again_at, first, total = with_log(key, function()
    return log_look(key, now, need, policy)
  end)
  notes[asked] = { first, total }
  tell(used)
  tell(first_at)
  tell(fits_at)
  tell(again_at)
  return used + need <= policy.most, false, wrong
end

function look.lease(key, record, policy, need)
  local taken, wrong, last = leases_taken(key, now, policy)
  notes[asked] = last
  tell(taken)
  return taken + need <= policy.most, false, wrong
end

local own_key = { log = true, lease = true }

-- Of the check that is at hand: the groups tried that do not fit, and those that are charged.
local misfits, charged = {}, {}

-- Reads the policies under one key. Returns its record, whether all needs fit but those of groups that are tried.
local function look_at(key, asks)
  local record, damaged, fits = '', false, true
  if not own_key[asks[1].policy.kind] then
    record, damaged = read_record(key)
  end
  for i = 1, #asks do
    local ask = asks[i]
    asked = asked + 1
    begins[asked] = words + 1
    local fit, old, wrong = look[ask.policy.kind](key, record, ask.policy, ask.need)
    dated[asked] = old
    if damaged or wrong then
      healed[#healed + 1] = asked
    end
    if not fit then
      if ask.group then
        misfits[ask.group] = true
      else
        fits = false
      end
    end
  end
  return record, fits
end

-- The entry of the nth policy asked, with what was taken.
local function entry_with(policy, nth, taken)
  local word = begins[nth]
  if policy.kind == 'bucket' then
    return bucket_entry(now, reply[word] + taken, policy, taken == 0 and notes[nth] or nil)
  elseif policy.kind == 'window' then
    -- What does not fit any more is taken ahead of the next window.
    local used, held = reply[word] + taken, notes[nth]
    if taken > 0 and used > policy.most then
      used, held = reply[word], held + taken
    end
    return window_entry(used, reply[word + 1], held, policy)
  end
  -- What is only handed on counts for no longer than it had.
  local ends = taken == 0 and notes[nth] or nil
  return counter_entry(reply[word] + taken, reply[word + 1], reply[word + 2], policy, ends)
end

-- Writes the policies under one key with what a check takes: all that it needs, or nothing. `nth` counts the policies
-- asked before.
local function write_at(key, record, asks, nth, takes, lease)
  local changed = false
  for i = 1, #asks do
    local policy, group, taken = asks[i].policy, asks[i].group, 0
    if group and charged[group] or not group and takes then
      taken = asks[i].need
    end
    nth = nth + 1
    if policy.kind == 'log' then
      if taken > 0 then
        log_add(key, now, taken, notes[nth][1], notes[nth][2], policy)
      end
    elseif policy.kind == 'lease' then
      -- A call that is refused does not run, whatever is tried.
      if taken > 0 and takes then
        lease_add(key, now, lease, taken, policy, notes[nth])
      end
    elseif taken > 0 or dated[nth] then
      record = with_entry(record, find_entry(record, policy.id), entry_with(policy, nth, taken))
      changed = true
    end
  end
  if changed then
    write_record(key, record, now)
  end
  return nth
end

-- The longest of some blocks; a block for ever is longer than any other.
local function longest_block(key, count)
  local longest = 0
  for i = 1, count do
    local left = block_left(KEYS[key + i], now)
    if left < 0 or (longest >= 0 and left > longest) then
      longest = left
    end
  end
  return longest
end

-- What is kept of an id for which a group was charged while the check itself was refused.
local TRIED = 't'

-- How often the admission of an id has been repeated, or nil where none is remembered; for how many microseconds it
-- still is, which is no longer than from now when the clock was set back; whether a group was charged instead.
local function repeats_of(key, lasts)
  local value = try('GET', key)
  local ends, repeats = nil, nil
  if type(value) == 'string' then
    ends, repeats = value:match('^(%d+) ([%dt])$')
  end
  if not ends or ends - now <= 0 then
    return nil, 0, false
  end
  return tonumber(repeats), math.min(ends - now, lasts), repeats == TRIED
end

-- Remembers an admission, and how often it has been repeated; or that a group was charged.
local function remember(key, lasts, repeats)
  call('SET', key, string.format('%.0f %s', now + lasts, repeats), 'PX', digits(lasts / 1000))
end

-- Which of the groups tried are charged. Returns whether any is charged instead of a check that is not.
local function charge_groups(modes, takes, remembered)
  local instead = false
  charged = {}
  for group = 1, #modes do
    if modes:sub(group, group) == 'b' then
      charged[group] = takes and not misfits[group]
    else
      charged[group] = not remembered and not misfits[group]
      instead = instead or charged[group]
    end
  end
  return instead and not takes
end

-- One check of a shape, whose first key is the one after `key`.
local function check(shape, key, lease, instance)
  local wanted, before, fits, found = shape.wanted, asked, true, {}
  local id, repeated, tried = nil, false, false
  if shape.blocks > 0 then
    local left = longest_block(key, shape.blocks)
    tell(left)
    wanted = wanted and left == 0
    key = key + shape.blocks
  end
  if shape.remembered > 0 then
    key = key + 1
    id = KEYS[key]
    local repeats, left
    repeats, left, tried = repeats_of(id, shape.remembered)
    repeated = repeats and repeats < REPEATS
    tell(repeated and 1 or tried and 2 or 0)
    if repeated and wanted then
      remember(id, left, repeats + 1)
    end
  end
  if shape.modes then
    misfits = {}
  end
  for i = 1, #shape do
    local fit
    found[i], fit = look_at(KEYS[key + i], shape[i])
    fits = fits and fit
  end
  local takes, nth, instead = wanted and fits and not repeated, before, false
  if wanted and shape.modes then
    instead = charge_groups(shape.modes, takes, repeated or tried)
  end
  for i = 1, wanted and #shape or 0 do
    nth = write_at(KEYS[key + i], found[i], shape[i], nth, takes, lease)
  end
  if id and (takes or instead) then
    remember(id, shape.remembered, takes and 0 or TRIED)
  end
  for i = 1, #shape.crowds do
    tell_crowd(KEYS[key + #shape + i], shape.crowds[i], takes and instance or 0, now, tell)
  end
end

-- Policies by their first argument.
local policies = {}

-- The shape told from argument `arg` on: per key, what is asked of its policies. Returns the next argument too.
local function shape_at(arg)
  local verb = ARGV[arg]
  local shape = { wanted = verb:sub(1, 1) == '1', modes = #verb > 1 and verb:sub(2), named = ARGV[arg + 1] == '1' }
  local ask = shape.modes and 3 or 2
  shape.blocks, shape.remembered = ARGV[arg + 2] + 0, ARGV[arg + 3] * 1000
  local keys, crowds = ARGV[arg + 4] + 0, ARGV[arg + 5] + 0
  arg = arg + 6
  for i = 1, keys do
    local asks = {}
    for n = 1, ARGV[arg] do
      local from = arg + 1 + ask * (n - 1)
      local at = ARGV[from]
      policies[at] = policies[at] or policy_at(at + 0)
      asks[n] = { policy = policies[at], need = ARGV[from + 1] + 0 }
      if shape.modes and ARGV[from + 2] ~= '0' then
        asks[n].group = ARGV[from + 2] + 0
      end
    end
    shape[i] = asks
    arg = arg + 1 + ask * #asks
  end
  shape.crowds = {}
  for i = 1, crowds do
    local threes = { longest = 0 }
    for n = 1, ARGV[arg] do
      threes[n] = ARGV[arg + n] + 0
      threes.longest = math.max(threes.longest, threes[n])
    end
    shape.crowds[i] = threes
    arg = arg + 1 + #threes
  end
  shape.keys = shape.blocks + (shape.remembered > 0 and 1 or 0) + keys + crowds
  return shape, arg
end

local shapes, arg, name, key = {}, ARGV[2] + 0, ARGV[3] + 0, 0
while arg < ARGV[3] + 0 do
  shapes[#shapes + 1], arg = shape_at(arg)
end
for i = 1, #ARGV[1] do
  local shape, lease, instance = shapes[ARGV[1]:byte(i) - 47], nil, 0
  if shape.named then
    lease, name = ARGV[name], name + 1
  end
  if #shape.crowds > 0 then
    instance, name = ARGV[name] + 0, name + 1
  end
  check(shape, key, lease, instance)
  key = key + shape.keys
end

for i = 1, #healed do
  tell(healed[i])
end
return reply
