-- Finding entries in the order of their ranks. A query looks through the records of one list that is in this order, or
-- through all records of a range if they are few, and asks each entry itself how it matches.
--
-- @include entries.lua
-- @include index.lua

-- How long a query may take (us): past it the weakest kinds are cut off ...
local QUERY_BUDGET = 1000

-- ... typos have longer, for they are looked for last, with most to look at; the last part of it is for the best of what
-- was found ...
local TYPO_BUDGET = 1400

local FINDING_BUDGET = 1150

local allowed = QUERY_BUDGET

-- ... but not before so much work is done (records read and entries looked at, a command being as much as four): most of a
-- millisecond where nobody else wants the processor. So a system that takes it away for a while cuts no small query.
local LEAST_WORK = 700

-- How long a page of a listing may take (us): it may be short, for another one follows.
local LIST_BUDGET = 800

-- As many records as may be looked through out of order.
local FEW = 256

-- So many more of the highest records are looked at than are needed: some are of no avail.
local SPARE = 4

-- A gram's list that fills fewer parts of the index is looked through as a whole.
local SIFTED_PARTS = 10

-- So many entries are fetched at once, and so many bytes of one are as much work as looking at it.
local FETCHED = 24

local WORK_BYTES = 256

-- One or two characters somewhere in a text are looked for in so many lists.
local MOST_LISTS = 32

-- Of a long query so many of the lists it could be looked for in are compared, about.
local MOST_GRAMS = 8

-- The best-matching kinds come first.
local KINDS = { 'e', 'p', 'w', 's', 'c', 't' }

local cut = false

-- Something was left out, though there was time for the rest.
local incomplete = false

local function out_of_time(budget)
  if index.work <= LEAST_WORK or elapsed() <= budget then return false end
  cut = true
  return true
end

-- Lua's own < goes by the locale that Redis was started in; order here is that of bytes, as in the index. Long texts may
-- begin alike, so where they part is found by halves; so many bytes of them are known to be alike.
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

-- An entry that matches: { value, forms, score }, and what is found out when it is needed.
local function new_candidate(value, forms) return { value = value, forms = forms, score = score_of(value) } end

local function text_of_candidate(candidate)
  candidate.text = candidate.text or text_of(candidate.forms)
  return candidate.text
end

local function rest_of_candidate(candidate)
  candidate.rest = candidate.rest or rest_of(candidate.value)
  return candidate.rest
end

-- Whether a candidate comes before a place { score, text, id }, or candidate, of its kind; so many bytes of their texts
-- are known to be alike.
local function comes_before(a, b, alike)
  if a.score ~= b.score then return a.score > b.score end
  local text, other = text_of_candidate(a), b.text or text_of_candidate(b)
  index.work = index.work + 1
  if text ~= other then return precedes(text, other, alike) end
  return precedes(rest_of_candidate(a)[3], b.id or rest_of_candidate(b)[3], 0)
end

-- Keeps the best few in order. They often come in order, and are then compared once.
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

-- A list of records: those that have this key, and of a gram those with these bytes before and after it, where known.
local function list_of(key, before, after)
  return { key = key, before = before and string.byte(before, -1), after = after and string.byte(after, -1) }
end

local function fits(record, list)
  local before, after = string.byte(record, -2, -1)
  return (not list.before or list.before == before) and (not list.after or list.after == after)
end

local function is_gram(record) return string.byte(record) == 103 end

-- How many bytes of a record follow its entry's number.
local function tail_of(record)
  local kind = string.byte(record)
  return (kind == 97 or kind == 119) and 0 or kind == 112 and 1 or 3
end

local function number_of(record)
  local tail = tail_of(record)
  return string.sub(record, -5 - tail, -1 - tail)
end

-- Where a record stands in a list: its rank, its number and, as of a gram an entry may have several, what follows.
local function place_of(record, key) return string.sub(record, #key + 2, is_gram(record) and -1 or -1 - tail_of(record)) end

local function rank_of(place, of_gram) return string.sub(place, 1, of_gram and -10 or -7) end

local function number_in(place, of_gram) return string.sub(place, of_gram and -8 or -5, of_gram and -4 or -1) end

-- Calls `visit` with the value of each record's entry and the record's place, once for each entry: `known` has the
-- numbers that were met before. With a list, only of those that fit. A few at a time, for entries may be large; returns
-- the place of the last record that it got to.
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

-- All records that begin with `head`, or nil if they are more than `most`.
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

-- Keeps records with heights, each entry's once, but of those above `ceiling` none: the highest of them in order, all of
-- one height among them, and the rest.
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

-- The lists of some of the grams of a query from a character on: of a long one not all.
local function grams_of(query, first)
  local found = {}
  for i = first, #query - 2, math.max(1, math.floor((#query - 2) / MOST_GRAMS)) do
    found[#found + 1] = list_of('g' .. table.concat(query, '', i, i + 2), query[i - 1], query[i + 3])
  end
  return found
end

-- That of the lists which is in the fewest parts of the index, and how many it fills.
local function shortest_of(lists)
  local shortest, parts
  for _, list in ipairs(lists) do
    local size = parts_between(list.key .. '\0', list.key .. '\1')
    if not parts or size < parts then shortest, parts = list, size end
    if size == 0 then break end
  end
  return shortest, parts
end

-- The next records of one list, from a place on.
local function following(list, place, batch)
  local read = reader(list.key .. '\0' .. place, list.key .. '\1', batch)
  return function()
    local records = read()
    return records, function(i) return place_of(records[i], list.key) end
  end
end

-- The same of several lists together, in the order of places: they are kept in the order of their next ones.
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
