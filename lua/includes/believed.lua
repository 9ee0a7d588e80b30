-- No stored window is believed to have more in use than is allowed after the fact, or than so many quotas, so that what a
-- larger one granted is kept; and all of it counts exactly in a double.
local MOST_QUOTAS, LARGEST = 16, 4503599627370496

local function most_believed(quota, bound)
  return math.min(math.max(MOST_QUOTAS * quota, bound), LARGEST)
end
