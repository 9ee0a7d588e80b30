-- What is kept of a bucket of which units have been taken ahead, beside its level and under a key of its own: when it
-- was written, the level then, the ticks in use then without those held, ticks per unit, ticks per microsecond, each 7
-- bytes; then for each term, by their end: when it ends, the ticks held until then. The level is written so high that it
-- falls, by the end of the last term, to what has been used and is held: so whoever knows only the level never hands
-- out what a process holds.
--- @include "includes/digits"

local ADVANCES, TERM = '>I7I7I7I7I7', '>I7I7'
local ADVANCES_SIZE, TERM_SIZE = 35, 14
-- Nothing is good for longer; a state that says so was written before the clock was set back.
local LONGEST_US = 180000000
-- More terms than processes of some few settings bring about; beyond it, new units are good as long as the last.
local MOST_TERMS = 12

local function held_in(terms)
  local sum = 0
  for i = 1, #terms do
    sum = sum + terms[i].held
  end
  return sum
end

-- Ticks in use now without those held, and the terms that still run. Units whose term is over count as used at its end.
-- What cannot be believed says nothing.
local function read_advances(key, level, now, policy)
  local value = redis.pcall('GET', key)
  if type(value) ~= 'string' or #value <= ADVANCES_SIZE or (#value - ADVANCES_SIZE) % TERM_SIZE ~= 0 then
    return level, {}
  end
  local written, level_then, own, unit, rate = unpack_struct(ADVANCES, value)
  local terms, renumbered = {}, unit ~= policy.unit or rate ~= policy.rate
  local at_us = written
  for at = ADVANCES_SIZE + 1, #value, TERM_SIZE do
    local ends, held = unpack_struct(TERM, value, at)
    if renumbered then
      held = ceil(held / unit * policy.unit)
    end
    if ends > now + LONGEST_US or held > LARGEST then
      return level, {}
    elseif ends > now then
      terms[#terms + 1] = { ends = ends, held = held }
    else
      own = math.max(0, own - (ends - at_us) * rate) + held
      at_us = ends
    end
  end
  if written > now or unit == 0 or own + held_in(terms) > LARGEST then
    return level, {}
  elseif renumbered then
    return math.max(0, level - held_in(terms)), terms
  end
  own = math.max(0, own - (now - at_us) * rate)
  -- What others took or gave back since is the difference to the level that was to be expected.
  local others = level - math.max(0, level_then - (now - written) * rate)
  return math.max(0, own + others), terms
end

-- How long the last of the terms still runs.
local function longest_term(terms, now)
  local longest = 0
  for i = 1, #terms do
    longest = math.max(longest, terms[i].ends - now)
  end
  return longest
end

local function write_advances(key, now, level, own, terms, policy)
  if #terms == 0 then
    redis.call('DEL', key)
    return
  end
  local parts = { pack(ADVANCES, now, level, own, policy.unit, policy.rate) }
  for i = 1, #terms do
    parts[i + 1] = pack(TERM, terms[i].ends, terms[i].held)
  end
  local lasts = longest_term(terms, now)
  redis.call('SET', key, table.concat(parts), 'PX', digits(lasts / 1000))
end

-- Holds more or less until an instant; returns what is held until then. Terms stay by their end, none is empty.
local function hold(terms, ends, add)
  local at = 1
  while terms[at] and terms[at].ends < ends do
    at = at + 1
  end
  if not terms[at] or terms[at].ends ~= ends then
    table.insert(terms, at, { ends = ends, held = 0 })
  end
  local term = terms[at]
  term.held = term.held + add
  if term.held <= 0 then
    table.remove(terms, at)
  end
end
