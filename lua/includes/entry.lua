-- What is stored under one key: the buckets of one partition (in one scope), one fixed-size entry each.
-- An entry is: id of the policy (6 bytes), instant from which it says nothing (7), instant of its level (7),
-- level in ticks (7), ticks per unit when it was written (7). Instants are microseconds.
local ENTRY = 34
local FORMAT = '>I6I7I7I7I7'
-- No more is in use of anything: all of it counts exactly in a double.
local LARGEST = 4503599627370496
-- Far more policies than limiters have; a longer record is none of ours.
local MOST_ENTRIES = 1024

local call, try = redis.call, redis.pcall
local pack, unpack_struct, ceil, format = struct.pack, struct.unpack, math.ceil, string.format
