-- Finding entries in the order of their ranks. A query looks through the records of one list that is in this order, or
-- through all records of a range if they are few, and asks each entry itself how it matches.

-- How long a query may take (us): past it the weakest kinds are cut off.
local QUERY_BUDGET = 1000

-- The last part of it is for what was found already.
local TYPO_BUDGET = 700

-- As many records as may be looked through out of order.
local FEW = 256

-- Of a long query so many of the lists it could be looked for in are compared, about.
local MOST_GRAMS = 8

-- The best-matching kinds come first.
local KINDS = { 'e', 'p', 'w', 's', 'c', 't' }

local cut = false

local function out_of_time(budget)
  if not cut and elapsed() > budget then cut = true end
  return cut
end

local function number_of(record) return string.sub(record, -5) end

-- A list in the order of ranks, from a rank on.
local function ranked_list(key, rank)
  return { key = key, from = key .. '\0' .. (rank or ''), to = key .. '\1' }
end

local function rank_of(record, list) return string.sub(record, #list.key + 2, -7) end

-- A candidate is an entry that matches: { value, forms, rank }, where ranks may be cut, but order what they tell apart.
local function text_of_candidate(candidate)
  candidate.text = candidate.text or text_of(candidate.forms)
  return candidate.text
end

local function rest_of_candidate(candidate)
  candidate.rest = candidate.rest or rest_of(candidate.value)
  return candidate.rest
end

local function precedes(a, b)
  if a.rank ~= b.rank then return a.rank < b.rank end
  local text, other = text_of_candidate(a), text_of_candidate(b)
  if text ~= other then return text < other end
  return rest_of_candidate(a)[3] < rest_of_candidate(b)[3]
end

local function put_in_order(found)
  for i = 2, #found do
    if precedes(found[i], found[i - 1]) then return table.sort(found, precedes) end
  end
end

-- Adds those of these records' entries that are accepted, each once: `known` has the numbers that were met before.
-- Without the records' ranks they get whole ones.
local function add_candidates(found, records, ranks, entries, known, accept)
  local numbers, of = {}, {}
  for i, record in ipairs(records) do
    local number = number_of(record)
    if not known[number] then
      known[number] = true
      numbers[#numbers + 1] = number
      of[#numbers] = i
    end
  end
  if #numbers == 0 then return end
  for i, value in ipairs(redis.call('HMGET', entries, unpack(numbers))) do
    if value then
      local forms = forms_of(value)
      if accept(forms) then
        local candidate = { value = value, forms = forms }
        candidate.rank = ranks and ranks[of[i]] or code_of(value) .. text_of_candidate(candidate)
        found[#found + 1] = candidate
      end
    end
  end
end

-- All records of a range, or nil if they are not few.
local function few_between(from, to)
  local all = {}
  for records in reader(from, to, FEW + 1) do
    for _, record in ipairs(records) do all[#all + 1] = record end
    if #all > FEW then return nil end
  end
  return all
end

-- The next records of several lists together, in the order of their ranks, and these; nil at the end.
local function merged(lists, batch)
  for _, list in ipairs(lists) do
    list.read, list.at, list.records = reader(list.from, list.to, batch), 1, {}
  end
  if #lists == 1 then
    return function()
      local records, ranks = lists[1].read(), {}
      if not records then return end
      for i, record in ipairs(records) do ranks[i] = rank_of(record, lists[1]) end
      return records, ranks
    end
  end
  local function advance(list)
    if list.records and list.at > #list.records then list.records, list.at = list.read(), 1 end
    list.rank = list.records and rank_of(list.records[list.at], list)
  end
  for _, list in ipairs(lists) do advance(list) end
  return function()
    local records, ranks = {}, {}
    while #records < batch do
      local least
      for _, list in ipairs(lists) do
        if list.rank and (not least or list.rank < least.rank) then least = list end
      end
      if not least then break end
      records[#records + 1], ranks[#ranks + 1] = least.records[least.at], least.rank
      least.at = least.at + 1
      advance(least)
    end
    if #records > 0 then return records, ranks end
  end
end

-- The lists of some of the grams of a query from a character on: of a long one not all.
local function grams_of(query, first)
  local found = {}
  for i = first, #query - 2, math.max(1, math.floor((#query - 2) / MOST_GRAMS)) do
    found[#found + 1] = 'g' .. table.concat(query, '', i, i + 2)
  end
  return found
end

local function shortest_of(lists)
  local shortest, parts
  for _, key in ipairs(lists) do
    local size = parts_between(key .. '\0', key .. '\1')
    if not parts or size < parts then shortest, parts = key, size end
    if size == 0 then break end
  end
  return shortest
end

-- The score that a code or a rank begins with, in digits.
local function score_of(rank)
  local score = 0
  for i = 2, 9 - string.byte(rank) do score = score * 256 + 255 - string.byte(rank, i) end
  return string.format('%.0f', score)
end

-- The text of a rank, without a character that its end cuts through.
local function whole_characters(rank)
  local text = string.sub(rank, 10 - string.byte(rank))
  local last = string.find(text, '[%z\1-\127\194-\244][\128-\191]*$')
  if not last then return text end
  local byte = string.byte(text, last)
  local length = byte < 128 and 1 or byte < 224 and 2 or byte < 240 and 3 or 4
  return #text - last + 1 == length and text or string.sub(text, 1, last - 1)
end
