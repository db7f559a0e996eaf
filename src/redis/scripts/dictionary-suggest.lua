-- The best entries that match a query, kind by kind; reads only.
--
-- KEYS  the dictionary's meta (prelude/dictionary/generations.lua)
-- ARGV  1, 2 the query folded with accents kept, and with them dropped; words marked (engine/fold.ts)
--       3 kinds asked for, of 'epwsct'  4 how many at most
--       5 go on after: kind ("": from the start), 6 score ("": after all of the kind, "+": before all of it), 7 folded
--       text, 8 entry id
-- Reply OK, profile, 1 if it was cut short, where to go on { kind, score, folded text, entry id } or {}, and of each
--       entry kind, score, entry id, text, payload
--       | UNKNOWN
-- Holds Each entry once, at its best kind of those asked for, in the order of rank. Cut short, what is there is still
--       in order and without a gap, but for typos.
local live = meta('live')
if not live then return { 'UNKNOWN' } end
local profile = meta('profile')
local asked, limit = ARGV[3], tonumber(ARGV[4])
local after = nil
if ARGV[5] ~= '' then
  local code = ARGV[6] == '' and '\255' or ARGV[6] == '+' and '' or order_code(tonumber(ARGV[6]))
  after = { kind = ARGV[5], code = code, text = ARGV[7], rank = code .. ARGV[7], id = ARGV[8] }
end

local marked = string.sub(profile, 1, 1) == 'k' and ARGV[1] or ARGV[2]
local plain = (string.gsub(marked, '\1', ''))
local query = {}
for character in string.gmatch(plain, CHARACTER) do query[#query + 1] = character end
local entries = key_of('entries', live)
use_index(live)

local patterns = { e = '\2' .. marked .. '\3', p = '\2' .. marked, w = '\1' .. marked, s = marked .. '\3', c = marked }
if plain == '' then patterns = { p = '', w = '', s = '', c = '' } end

-- The patterns of the kinds asked for that are better than this one; and of all kinds, for typos.
local function patterns_before(kind, kinds)
  local better = {}
  for _, other in ipairs(KINDS) do
    if other == kind then break end
    if patterns[other] and string.find(kinds, other, 1, true) then better[#better + 1] = patterns[other] end
  end
  return better
end

-- Whether forms match by a kind, and by none better that is asked for.
local function accepting(kind, kinds)
  local own, better = patterns[kind], patterns_before(kind, kinds)
  return function(forms)
    if own and not string.find(forms, own, 1, true) then return false end
    for _, pattern in ipairs(better) do
      if string.find(forms, pattern, 1, true) then return false end
    end
    return true
  end
end

local results = {}
local resume = nil

local function is_new(candidate, kind)
  if not after or after.kind ~= kind then return true end
  local rank = code_of(candidate.value) .. text_of_candidate(candidate)
  if rank ~= after.rank then return rank > after.rank end
  return rest_of_candidate(candidate)[3] > after.id
end

-- Adds the first of these, in order, that come after where the last page ended.
local function take(found, kind)
  put_in_order(found)
  for _, candidate in ipairs(found) do
    if #results > limit then return end
    if is_new(candidate, kind) then
      candidate.kind = kind
      results[#results + 1] = candidate
    end
  end
end

-- Looks through lists in the order of rank until the page is full.
local function walk(lists, kind)
  local is_gram = string.sub(lists[1], 1, 1) == 'g'
  local rank_text = is_gram and GRAM_RANK_TEXT or RANK_TEXT
  local from = after and after.kind == kind and after.code .. string.sub(after.text, 1, rank_text) or nil
  for i, key in ipairs(lists) do lists[i] = ranked_list(key, from) end
  local found, known, accept = {}, {}, accepting(kind, asked)
  local needed = limit + 1 - #results
  local next_records = merged(lists, math.min(needed + 5, 64))
  local last
  repeat
    local records, ranks = next_records()
    if not records then return take(found, kind) end
    last = ranks[#ranks]
    add_candidates(found, records, ranks, entries, known, accept)
    -- What has the rank of the last record may still be preceded by a record to come.
    local closed = 0
    for _, candidate in ipairs(found) do
      if candidate.rank < last and is_new(candidate, kind) then closed = closed + 1 end
    end
  until closed >= needed or out_of_time(QUERY_BUDGET)
  while #found > 0 and found[#found].rank >= last do found[#found] = nil end
  take(found, kind)
  if not cut then return end
  -- Where so many are of one rank that a whole look comes no further, the next one is for the kinds that follow.
  if last == from then resume = { kind, '', '', '' } else resume = { kind, score_of(last), whole_characters(last), '' } end
end

-- Looks through all records of a range if they are few, else through the shortest of lists.
local function gather(from, to, kind, lists)
  local records = few_between(from, to)
  if not records then return walk({ shortest_of(lists) }, kind) end
  local found = {}
  add_candidates(found, records, nil, entries, {}, accepting(kind, asked))
  take(found, kind)
end

-- The lists that make up one shorter than they are: of each third character that follows.
local function grams_beginning(head)
  local found, from = {}, 'g' .. head
  while not out_of_time(QUERY_BUDGET / 2) do
    local record = reader(from, 'g' .. head .. '\255', 1)()
    if not record then break end
    local key = string.sub(record[1], 1, string.find(record[1], '\0', 1, true) - 1)
    found[#found + 1] = key
    from = key .. '\1'
  end
  return found
end

local function begins(ranked, whole, kind)
  if #query == 0 then return walk({ 'a' }, kind) end
  if #query <= 3 then return walk({ ranked .. plain }, kind) end
  local from = whole .. (whole == 'f' and plain or string.sub(plain, 1, WORD_BYTES))
  local lists = grams_of(query, 1)
  lists[#lists + 1] = ranked .. table.concat(query, '', 1, 3)
  gather(from, from .. '\255', kind, lists)
end

local ways = {}

function ways.e()
  if #query == 0 then return end
  gather('f' .. plain .. '\0', 'f' .. plain .. '\1', 'e', { 'p' .. table.concat(query, '', 1, math.min(3, #query)) })
end

function ways.p() begins('p', 'f', 'p') end

function ways.w() begins('w', 'v', 'w') end

function ways.s()
  if #query == 0 then return walk({ 'a' }, 's') end
  local lists = grams_of(query, 1)
  lists[#lists + 1] = 'g' .. table.concat(query, '', math.max(1, #query - 1)) .. '\3'
  walk({ shortest_of(lists) }, 's')
end

function ways.c()
  if #query == 0 then return walk({ 'a' }, 'c') end
  local lists
  if #query < 3 then lists = grams_beginning(plain) else lists = { shortest_of(grams_of(query, 1)) } end
  if #lists > 0 then walk(lists, 'c') end
end

function ways.t()
  local edits = #query >= TWO_EDITS and 2 or #query >= ONE_EDIT and 1 or 0
  if edits == 0 or string.sub(profile, 2, 2) ~= 't' then return end
  local records, found, known = {}, {}, {}
  visit_like(query, edits, function(record) records[#records + 1] = record end)
  local unlike = accepting('t', 'epwsc')
  local function accept(forms) return unlike(forms) and is_like(forms, query, edits) end
  for i = 1, #records, 64 do
    add_candidates(found, { unpack(records, i, math.min(i + 63, #records)) }, nil, entries, known, accept)
    if out_of_time(QUERY_BUDGET) then break end
  end
  take(found, 't')
end

local reached = not after
for _, kind in ipairs(KINDS) do
  reached = reached or kind == after.kind
  if reached and not cut and #results <= limit and string.find(asked, kind, 1, true) then ways[kind]() end
end

local more = #results > limit
results[limit + 1] = nil
local answers = {}
for i, candidate in ipairs(results) do
  local rest = rest_of_candidate(candidate)
  local text = rest[4] ~= '' and rest[4] or text_of_candidate(candidate)
  answers[i] = { candidate.kind, score_of(candidate.rank), rest[3], text, rest[5] }
end
if more then
  local last = results[limit]
  resume = { last.kind, answers[limit][2], text_of_candidate(last), last.rest[3] }
end
return { 'OK', profile, cut and 1 or 0, resume or {}, answers }
