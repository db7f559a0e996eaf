-- The entries of a range, in the order of their folded texts; reads only.
--
-- KEYS  the dictionary's meta (prelude/dictionary/generations.lua)
-- ARGV  1, 2 folded text of the first, with accents kept and dropped ("": from the beginning)
--       3, 4 folded text of what comes after the last, the same ("": to the end)
--       5 how many at most  6 go on after: folded text, 7 number (both "": from the start)
-- Reply OK, where to go on { folded text, number } or {}, and of each entry entry id, text, aliases (JSON),
--       weight, selections, payload
--       | UNKNOWN
-- Holds Those of one text are in the order in which they came.
local live = meta('live')
if not live then return { 'UNKNOWN' } end
local kept = string.sub(meta('profile'), 1, 1) == 'k'
local from, to, limit = kept and ARGV[1] or ARGV[2], kept and ARGV[3] or ARGV[4], tonumber(ARGV[5])
local low, high = 'f' .. from, to == '' and 'g' or 'f' .. to
if ARGV[7] ~= '' then low = 'f' .. ARGV[6] .. '\0' .. pack_number(tonumber(ARGV[7])) .. '\0' end
use_index(live)

local answers, last, resume = {}, nil, {}
local next_records = reader(low, high, math.min(limit + 1, 24))
repeat
  local records = next_records()
  if not records then break end
  local numbers = {}
  for i, record in ipairs(records) do numbers[i] = string.sub(record, -5) end
  for i, value in ipairs(redis.call('HMGET', key_of('entries', live), unpack(numbers))) do
    if #answers == limit then
      resume = last
      break
    end
    local text = string.sub(records[i], 2, -7)
    last = { text, string.format('%.0f', (struct.unpack('>I5', numbers[i]))) }
    -- An alias has a record of the same kind.
    if value and text_of(forms_of(value)) == text then
      local rest = rest_of(value)
      local shown = rest[4] ~= '' and rest[4] or text
      local aliases = rest[6] ~= '' and rest[6] or '[]'
      answers[#answers + 1] = { rest[3], shown, aliases, int(rest[1]), int(rest[2]), rest[5] }
    end
  end
  if #resume == 0 and last and elapsed() > LIST_BUDGET then resume = last end
until #resume > 0
return { 'OK', resume, answers }
