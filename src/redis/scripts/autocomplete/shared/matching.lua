-- Finds entries in the order of their ranks. A query examines a list of records in this order, or all records of a range
-- if they are few. The entry itself decides how it matches.
--
-- @include entries.lua
-- @include index.lua

-- Time budget of a query (us). After that the page is cut short.
local QUERY_BUDGET = 1000

-- Time budgets of the search for typos, which comes last and examines most: in total, and until records are found.
local TYPO_BUDGET = 1400

local FINDING_BUDGET = 1150

local allowed = QUERY_BUDGET

-- Work that a query may always do, even after its time: records read and entries examined; a command counts as four. This
-- work takes most of a millisecond on an idle machine, so a busy machine cuts no small query short.
local LEAST_WORK = 700

-- Time budget of a page of a listing (us). A page may be short, because another page follows.
local LIST_BUDGET = 800

-- The maximum number of unordered records to examine.
local FEW = 256

-- Additional records to examine, because some do not match.
local SPARE = 4

-- A gram's list in fewer parts of the index than this is examined as a whole.
local SIFTED_PARTS = 10

-- Entries that are fetched by one command, and the bytes of an entry that count as one unit of work.
local FETCHED = 24

local WORK_BYTES = 256

-- The maximum number of lists that are examined for `contains` with one or two characters.
local MOST_LISTS = 32

-- About the number of lists of a long query that are compared by length.
local MOST_GRAMS = 8

-- Kinds from the best match to the weakest.
local KINDS = { 'e', 'p', 'w', 's', 'c', 't' }

local cut = false

-- True if matches were left out for another reason than time.
local incomplete = false

local function out_of_time(budget)
  if index.work <= LEAST_WORK or elapsed() <= budget then return false end
  cut = true
  return true
end

-- Compares by bytes, as the index does; Lua's own < depends on the locale of Redis. Long texts may have a long common
-- beginning, so a binary search finds the first difference. The first `alike` bytes are known to be equal.
local function precedes(a, b, alike)
  local low, high = alike + 1, math.min(#a, #b) + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if low == alike + 1 then middle = math.min(middle, low + 7) end
    if string.sub(a, low, middle) == string.sub(b, low, middle) then low = middle + 1 else high = middle end
  end
  local x, y = string.byte(a, low), string.byte(b, low)
  return y ~= nil and (x == nil or x < y)
end

-- A matching entry: { value, forms, score }; other fields are computed when needed.
local function new_candidate(value, forms) return { value = value, forms = forms, score = score_of(value) } end

local function text_of_candidate(candidate)
  candidate.text = candidate.text or text_of(candidate.forms)
  return candidate.text
end

local function rest_of_candidate(candidate)
  candidate.rest = candidate.rest or rest_of(candidate.value)
  return candidate.rest
end

-- True if a candidate comes before another candidate, or before a place { score, text, id }, of its kind. The first
-- `alike` bytes of their texts are known to be equal.
local function comes_before(a, b, alike)
  if a.score ~= b.score then return a.score > b.score end
  local text, other = text_of_candidate(a), b.text or text_of_candidate(b)
  index.work = index.work + 1
  if text ~= other then return precedes(text, other, alike) end
  return precedes(rest_of_candidate(a)[3], b.id or rest_of_candidate(b)[3], 0)
end

-- Inserts a candidate into the ordered list of the best. Candidates mostly come in order and need one comparison.
local function offer(best, candidate, most, alike)
  if #best >= most then
    if not comes_before(candidate, best[most], alike) then return end
    best[most] = nil
  end
  local low, high = 1, #best + 1
  local middle = #best
  while low < high do
    if middle > 0 and comes_before(candidate, best[middle], alike) then high = middle else low = middle + 1 end
    middle = math.floor((low + high) / 2)
  end
  table.insert(best, low, candidate)
end

-- A list of the records with this key. For a gram, `before` and `after` restrict the neighbouring bytes.
local function list_of(key, before, after)
  return { key = key, before = before and string.byte(before, -1), after = after and string.byte(after, -1) }
end

local function fits(record, list)
  local before, after = string.byte(record, -2, -1)
  return (not list.before or list.before == before) and (not list.after or list.after == after)
end

local function is_gram(record) return string.byte(record) == 103 end

-- The number of bytes of a record after its entry's number.
local function tail_of(record)
  local kind = string.byte(record)
  return (kind == 97 or kind == 119) and 0 or kind == 112 and 1 or 3
end

local function number_of(record)
  local tail = tail_of(record)
  return string.sub(record, -5 - tail, -1 - tail)
end

-- The place of a record in a list: its rank and number and the bytes behind, because an entry may have a gram twice.
local function place_of(record, key) return string.sub(record, #key + 2, is_gram(record) and -1 or -1 - tail_of(record)) end

local function rank_of(place, of_gram) return string.sub(place, 1, of_gram and -10 or -7) end

local function number_in(place, of_gram) return string.sub(place, of_gram and -8 or -5, of_gram and -4 or -1) end

-- Calls `visit` once per entry with the entry's value and the index of its record. `known` has the numbers of visited
-- entries. With a list, only records that fit are visited. Entries may be large, so a few are read at a time. Returns the
-- index of the last visited record.
local function visit_entries(records, entries, known, visit, list)
  local numbers, places = {}, {}
  local filtered = list and (list.before or list.after)
  for i, record in ipairs(records) do
    if not filtered or fits(record, list) then
      local number = number_of(record)
      if not known[number] then
        known[number] = true
        numbers[#numbers + 1] = number
        places[#numbers] = i
      end
    end
  end
  for from = 1, #numbers, FETCHED do
    local to = math.min(from + FETCHED - 1, #numbers)
    index.work = index.work + 4
    for i, value in ipairs(redis.call('HMGET', entries, unpack(numbers, from, to))) do
      if value then
        index.work = index.work + 1 + #value / WORK_BYTES
        visit(value, places[from + i - 1])
      end
    end
    if to < #numbers and out_of_time(allowed) then return places[to] end
  end
  return #records
end

-- All records that begin with `head`, or nil if there are more than `most`.
local function all_below(head, most)
  local to = head .. '\255'
  local part = part_for(to)
  if not part then return {} end
  if part == head or string.sub(part, 1, #head) ~= head then
    local found = redis.call('ZRANGEBYLEX', index.part .. part, '[' .. head, '(' .. to, 'LIMIT', 0, most + 1)
    index.work = index.work + #found + 8
    return #found <= most and found or nil
  end
  if parts_between(head, to) > most / PART_SIZE * 2 then return nil end
  local all = {}
  for records in reader(head, to, most + 1) do
    for _, record in ipairs(records) do all[#all + 1] = record end
    if #all > most then return nil end
  end
  return all
end

-- Collects records with heights up to `ceiling`, one for each entry, and divides them: the highest in order, with all
-- records of the lowest height among these, and the rest.
local function the_highest(most, ceiling)
  local records, heights, known, highest = {}, {}, {}, {}
  return {
    add = function(record)
      local number = string.sub(record, -8, -4)
      local high, low = string.byte(record, -3, -2)
      local height = high * 256 + low
      if known[number] or height > ceiling then return end
      known[number] = true
      local last = #records + 1
      records[last], heights[last] = record, height
      if #highest >= most then
        if height <= heights[highest[most]] then return end
        highest[most] = nil
      end
      local at = #highest + 1
      while at > 1 and heights[highest[at - 1]] < height do
        highest[at] = highest[at - 1]
        at = at - 1
      end
      highest[at] = last
    end,
    divided = function()
      local first, rest, taken = {}, {}, {}
      for i, at in ipairs(highest) do first[i], taken[at] = records[at], true end
      local least = highest[most] and heights[highest[most]] or 0
      for at, record in ipairs(records) do
        if not taken[at] then
          local some = heights[at] == least and first or rest
          some[#some + 1] = record
        end
      end
      return first, rest
    end,
  }
end

-- The lists for the grams of a query that begin at character `first` or later. A long query uses only some of its
-- grams.
local function grams_of(query, first)
  local found = {}
  for i = first, #query - 2, math.max(1, math.floor((#query - 2) / MOST_GRAMS)) do
    found[#found + 1] = list_of('g' .. table.concat(query, '', i, i + 2), query[i - 1], query[i + 3])
  end
  return found
end

-- The list in the fewest parts of the index, and the number of these parts.
local function shortest_of(lists)
  local shortest, parts
  for _, list in ipairs(lists) do
    local size = parts_between(list.key .. '\0', list.key .. '\1')
    if not parts or size < parts then shortest, parts = list, size end
    if size == 0 then break end
  end
  return shortest, parts
end

-- Reads the next records of a list from a place on.
local function following(list, place, batch)
  local read = reader(list.key .. '\0' .. place, list.key .. '\1', batch)
  return function()
    local records = read()
    return records, function(i) return place_of(records[i], list.key) end
  end
end

-- As `following`, for several lists merged in the order of places. `waiting` orders the lists by their next record.
local function merged(lists, place)
  local waiting = {}
  local function wait(list)
    list.at = list.at + 1
    if list.at > #list.records then list.records, list.at = list.read() or {}, 1 end
    local record = list.records[list.at]
    if not record then return end
    list.place = place_of(record, list.key)
    local low, high = 1, #waiting + 1
    while low < high do
      local middle = math.floor((low + high) / 2)
      if precedes(list.place, waiting[middle].place, 0) then low = middle + 1 else high = middle end
    end
    table.insert(waiting, low, list)
    index.work = index.work + 4
  end
  for _, list in ipairs(lists) do
    list.read, list.at, list.records = reader(list.key .. '\0' .. place, list.key .. '\1', 4), 0, {}
    wait(list)
  end
  return function()
    local records, places = {}, {}
    while #records < 32 and #waiting > 0 do
      local list = table.remove(waiting)
      records[#records + 1], places[#places + 1] = list.records[list.at], list.place
      wait(list)
    end
    return #records > 0 and records or nil, function(i) return places[i] end
  end
end
