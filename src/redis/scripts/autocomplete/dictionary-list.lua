#!lua flags=no-writes
-- Lists the entries of a range in the order of their folded texts; read-only.
--
-- KEYS  the dictionary's meta (shared/generations.lua)
-- ARGV  1, 2 lower bound: folded text with accents kept, and with accents dropped ("": none)
--       3, 4 upper bound, exclusive: the same two forms ("": none)
--       5 maximum number of entries  6 continue after this folded text and  7 this number (both "": from the start)
-- Reply OK, where to continue { folded text, number } or {}, and for each entry: entry id, text, aliases (JSON), weight,
--       selections, payload
--       | UNKNOWN
-- Holds Entries of one text are in the order of their arrival.
--
-- @include shared/matching.lua
local live = meta('live')
if not live then return { 'UNKNOWN' } end
local kept = string.sub(meta('profile'), 1, 1) == 'k'
local from, to, limit = kept and ARGV[1] or ARGV[2], kept and ARGV[3] or ARGV[4], tonumber(ARGV[5])
local low, high = 'f' .. from, to == '' and 'g' or 'f' .. to
if ARGV[7] ~= '' then low = 'f' .. ARGV[6] .. '\0' .. pack_number(tonumber(ARGV[7])) .. '\255' end
use_index(live)

local entries = key_of('entries', live)
local answers, last, resume = {}, nil, {}

-- Examines some of the records; true if the page is full or its time is over.
local function take(records, first)
  local numbers = {}
  for i = first, math.min(first + FETCHED - 1, #records) do numbers[#numbers + 1] = number_of(records[i]) end
  for i, value in ipairs(redis.call('HMGET', entries, unpack(numbers))) do
    local text = string.sub(records[first + i - 1], 2, -10)
    -- A record of an alias has the same form.
    local forms = value and forms_of(value)
    if forms and text_of(forms) == text then
      if #answers == limit or last and elapsed() > LIST_BUDGET then
        resume = last
        return true
      end
      local rest = rest_of(value)
      local shown = rest[4] ~= '' and rest[4] or text
      local aliases = rest[6] ~= '' and rest[6] or '[]'
      answers[#answers + 1] = { rest[3], shown, aliases, int(rest[1]), int(rest[2]), rest[5] }
    end
    last = { text, int((struct.unpack('>I5', numbers[i]))) }
  end
  return false
end

local over = false
for records in reader(low, high, math.min(limit + 1, FETCHED)) do
  for first = 1, #records, FETCHED do over = over or take(records, first) end
  if over then break end
end
return { 'OK', resume, answers }
