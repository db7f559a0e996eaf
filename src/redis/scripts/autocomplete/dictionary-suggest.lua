#!lua flags=no-writes
-- The best entries that match a query, kind by kind; reads only.
--
-- KEYS  the dictionary's meta (shared/generations.lua)
-- ARGV  1, 2 the query folded with accents kept, and with them dropped; words marked (engine/match.ts)
--       3 kinds asked for, of 'epwsct'  4 how many at most
--       5 go on after: kind ("": from the start), 6 score, 7 folded text, 8 entry id
--         or 6 "+": before all of the kind
--         or 6 "=", 7 a list and a place in it (hexadecimal), 8 what the page before that place went on after (JSON)
-- Reply OK, profile, 1 if it was cut short, where to go on { kind, score, folded text, entry id } or {}, and of each
--       entry kind, score, entry id, text, payload
--       | UNKNOWN
-- Holds Each entry once, at its best kind of those asked for, in the order of rank. Cut short, what is there has no gap,
--       but for typos and for what contains one or two characters; and is in order, but within one rank.
--
-- @include shared/typos.lua
local live, profile = unpack(redis.call('HMGET', KEYS[1], 'live', 'profile'))
if not live then return { 'UNKNOWN' } end
local asked, limit = ARGV[3], tonumber(ARGV[4])
local after = nil
if ARGV[5] ~= '' then
  after = { kind = ARGV[5], score = MOST_SCORE }
  if ARGV[6] == '=' then
    local record = string.gsub(ARGV[7], '%x%x', function(digits) return string.char(tonumber(digits, 16)) end)
    local key_end = string.find(record, '\0', 1, true)
    after.key, after.place = string.sub(record, 1, key_end - 1), string.sub(record, key_end + 1)
    if ARGV[8] ~= '' then
      local past = cjson.decode(ARGV[8])
      after.score, after.text, after.id = tonumber(past[1]), past[2], past[3]
    end
  elseif ARGV[6] ~= '+' then
    after.score, after.text, after.id = tonumber(ARGV[6]), ARGV[7], ARGV[8]
  end
end

local marked = string.sub(profile, 1, 1) == 'k' and ARGV[1] or ARGV[2]
local plain = string.gsub(marked, '\1', '')
local query = {}
for character in string.gmatch(plain, CHARACTER) do query[#query + 1] = character end
local entries = key_of('entries', live)
use_index(live)

local patterns = { e = '\2' .. marked .. '\3', p = '\2' .. marked, w = '\1' .. marked, s = marked .. '\3', c = marked }
if plain == '' then patterns = { p = '', w = '', s = '', c = '' } end

local function is_asked(kind) return string.find(asked, kind, 1, true) ~= nil end

-- The forms of a value that matches by a kind, and by none better that is asked for; else nil.
local function accepting(kind)
  local own, better = patterns[kind], {}
  for _, other in ipairs(KINDS) do
    if other == kind then break end
    if patterns[other] and is_asked(other) then better[#better + 1] = patterns[other] end
  end
  return function(value)
    -- What is not in the value at all is not in its forms.
    if not string.find(value, own, 1, true) then return nil end
    local forms = forms_of(value)
    if not string.find(forms, own, 1, true) then return nil end
    for _, pattern in ipairs(better) do
      if string.find(forms, pattern, 1, true) then return nil end
    end
    return forms
  end
end

local results = {}
local resume = nil

local function is_new(candidate, kind, alike)
  if not after or after.kind ~= kind or after.score == MOST_SCORE then return true end
  if comes_before(candidate, after, alike) then return false end
  return candidate.score ~= after.score or candidate.text ~= after.text or rest_of_candidate(candidate)[3] ~= after.id
end

local function take(found, kind)
  for _, candidate in ipairs(found) do
    if #results > limit then return end
    candidate.kind = kind
    results[#results + 1] = candidate
  end
end

-- Gets together the best of a kind from records that are in no order: those that are added have heights, and only the
-- highest of them are looked at.
local function collector(kind)
  local best, known, needed = {}, {}, limit + 1 - #results
  -- What is higher was on a page before.
  local highest = the_highest(needed + SPARE, height_of(after and after.kind == kind and after.score or MOST_SCORE))
  -- Looks at entries; returns how many of them may be among the best, and whether there was time for all.
  local function judge(records, accept)
    local count = 0
    local reached = visit_entries(records, entries, known, function(value)
      local forms = accept(value)
      local candidate = forms and new_candidate(value, forms)
      if not candidate or not is_new(candidate, kind, 0) then return end
      offer(best, candidate, needed, 0)
      count = count + 1
    end)
    return count, reached == #records
  end
  -- False if there was no time to find the best.
  local function judge_added(accept)
    local first, rest = highest.divided()
    local _, all = judge(first, accept)
    if all and #best < needed then _, all = judge(rest, accept) end
    return all
  end
  return { best = best, needed = needed, add = highest.add, judge = judge, judge_added = judge_added }
end

-- Adds the best of candidates that are in no order.
local function take_best(found, kind)
  local best, needed = {}, limit + 1 - #results
  for _, candidate in ipairs(found) do
    if is_new(candidate, kind, 0) then offer(best, candidate, needed, 0) end
  end
  take(best, kind)
end

-- Adds those of a run of candidates, which the index has in the order of their ranks, but not within one rank.
local function take_ranked(found, kind, alike)
  local i = 1
  while i <= #found and #results <= limit do
    local same, rank = {}, found[i].rank
    repeat
      offer(same, found[i], limit + 1 - #results, alike)
      i = i + 1
    until not found[i] or found[i].rank ~= rank
    take(same, kind)
  end
end

-- Where a page ends at a record the next one goes on there, in the order of records, for within a rank that is another
-- one than that of texts; and as long as it has not got past the entry after which the first of them went on, by that. Of
-- an entry that was looked at none of its records is to come again.
local function resume_at(kind, key, place, was_visited)
  if was_visited and is_gram(key) then place = string.sub(place, 1, -4) end
  local digits = string.gsub(key .. '\0' .. place, '.', function(c) return string.format('%02x', string.byte(c)) end)
  local bound = after and after.kind == kind and after.text and cjson.encode({ int(after.score), after.text, after.id })
  resume = { kind, '=', digits, bound or '' }
end

-- Looks through lists in the order of rank until the page is full; true if it has seen the whole of them. What it does
-- not accept is shown to `otherwise`.
local function walk(lists, kind, otherwise)
  local from, of_grams = '', is_gram(lists[1].key)
  local alike = of_grams and GRAM_RANK_TEXT or RANK_TEXT
  local by_records = after and after.kind == kind and after.place
  if by_records then
    from = after.place .. '\255'
  elseif after and after.kind == kind and after.text then
    from = order_code(after.score) .. string.sub(after.text, 1, alike)
  end
  local found, known, accept = {}, {}, accepting(kind)
  local list = #lists == 1 and lists[1]
  local needed, room = limit + 1 - #results, limit - #results
  -- Of a gram's list fewer match, so more are looked at with each command.
  local next_records = list and following(list, from, of_grams and 48 or needed + 2) or merged(lists, from)
  local last, whole
  repeat
    local records, place_at = next_records()
    whole = not records and from == ''
    if not records then break end
    local reached = visit_entries(records, entries, known, function(value, i)
      local forms = accept(value)
      if not forms then return otherwise and otherwise(value) end
      local candidate = new_candidate(value, forms)
      candidate.place = place_at(i)
      candidate.rank = rank_of(candidate.place, of_grams)
      -- Of a page that goes on after an entry only those of its rank may have been shown.
      local new = by_records and is_new(candidate, kind, 0) or not by_records and
        (candidate.rank ~= from or is_new(candidate, kind, alike))
      if new then found[#found + 1] = candidate end
    end, list)
    last = place_at(reached)
    -- What has the rank of the last record may still be preceded by a record to come.
    local closed = #found
    while not by_records and closed > 0 and found[closed].rank == rank_of(last, of_grams) do closed = closed - 1 end
    if closed >= needed then last = nil end
  until not last or out_of_time(allowed)
  -- Where there is no room, it is enough to know that there are more.
  local cut_here = last and cut and (room > 0 or #found == 0)
  if (cut_here or by_records) and #found > room then last = found[room].place end
  if (cut_here or by_records) and (cut_here or #found > room) then
    while #found > room do found[#found] = nil end
    resume_at(kind, lists[1].key, last, known[number_in(last, of_grams)])
  end
  if by_records then take(found, kind) else take_ranked(found, kind, alike) end
  return whole
end

-- Looks through all records with a beginning if they are few, else, or if there is no time for it, through a list: the
-- ranked one, which tells more of the order, unless a gram's is much shorter.
local function gather(head, kind, ranked, grams)
  local records = all_below(head, FEW)
  if not records then
    local _, parts = shortest_of({ ranked })
    local gram, fewer = shortest_of(grams)
    return walk({ gram and 2 * fewer < parts and gram or ranked }, kind)
  end
  local collected = collector(kind)
  for _, record in ipairs(records) do collected.add(record) end
  if not collected.judge_added(accepting(kind)) then return walk({ ranked }, kind) end
  take(collected.best, kind)
end

-- Looks through the lists that make up one shorter than they are, of each third character that follows; of those that
-- are too many only through the first.
local function walk_beginnings(head)
  local lists, from, all = {}, 'g' .. head, false
  while not all and #lists < MOST_LISTS do
    local record = reader(from, 'g' .. head .. '\255', 1)()
    if record then
      local key = string.sub(record[1], 1, string.find(record[1], '\0', 1, true) - 1)
      lists[#lists + 1] = list_of(key)
      from = key .. '\1'
    end
    all = record == nil
  end
  if #lists > 0 then walk(lists, 'c') end
  incomplete = incomplete or not all
end

local function begins(ranked, whole, kind)
  if #query == 0 then return walk({ list_of('a') }, kind) end
  if #query <= 3 then return walk({ list_of(ranked .. plain) }, kind) end
  local head = whole .. (whole == 'f' and plain or string.sub(plain, 1, WORD_BYTES))
  gather(head, kind, list_of(ranked .. table.concat(query, '', 1, 3)), grams_of(query, 1))
end

-- The lists that all are in which end with the query, the last one having no others.
local function lists_of_ends()
  local lists = grams_of(query, 1)
  lists[#lists + 1] = list_of('g' .. table.concat(query, '', math.max(1, #query - 1)) .. '\3', query[#query - 2])
  return lists
end

-- All that end with the query or contain it, of a list that was looked through: a query that is in few entries would go
-- through it twice.
local sifted = nil

-- Of the shortest gram's list, if it is short enough for the time there is; else a list in the order of rank is gone through.
local function sift()
  if sifted ~= nil or #query < 3 then return sifted end
  sifted = false
  local list, parts = shortest_of(grams_of(query, 1))
  local records = parts < SIFTED_PARTS and all_below(list.key .. '\0', SIFTED_PARTS * 2 * PART_SIZE)
  if not records then return false end
  local found = { s = {}, c = {} }
  local ends, contains = accepting('s'), accepting('c')
  local reached = visit_entries(records, entries, {}, function(value)
    local forms = contains(value)
    if forms then found.c[#found.c + 1] = new_candidate(value, forms) end
    if is_asked('s') then
      forms = ends(value)
      if forms then found.s[#found.s + 1] = new_candidate(value, forms) end
    end
  end, list)
  if reached == #records then sifted = found end
  return sifted
end

local ways = {}

function ways.e()
  if #query == 0 then return end
  gather('f' .. plain .. '\0', 'e', list_of('p' .. table.concat(query, '', 1, math.min(3, #query))), {})
end

function ways.p() begins('p', 'f', 'p') end

function ways.w() begins('w', 'v', 'w') end

function ways.s()
  if #query == 0 then return walk({ list_of('a') }, 's') end
  if sift() then return take_best(sifted.s, 's') end
  local lists = lists_of_ends()
  local list, accept = shortest_of(lists), accepting('c')
  if list.key == lists[#lists].key then return walk({ list }, 's') end
  local contains = {}
  local whole = walk({ list }, 's', function(value)
    local forms = accept(value)
    if forms then contains[#contains + 1] = new_candidate(value, forms) end
  end)
  if whole then sifted = { c = contains } end
end

function ways.c()
  if #query == 0 then return walk({ list_of('a') }, 'c') end
  if sift() then return take_best(sifted.c, 'c') end
  if #query < 3 then return walk_beginnings(plain) end
  walk({ (shortest_of(grams_of(query, 1))) }, 'c')
end

function ways.t()
  local edits = #query >= TWO_EDITS and 2 or #query >= ONE_EDIT and 1 or 0
  if edits == 0 or string.sub(profile, 2, 2) ~= 't' then return end
  -- Records have the beginnings of forms: by more of the query entries are compared when they are looked at.
  local whole = wanted_of(query)
  local is_long = #query > TYPO_CHARACTERS - edits
  local wanted = is_long and wanted_of({ unpack(query, 1, TYPO_CHARACTERS - edits) }) or whole
  -- What matches in any other way has all of the query in it.
  local function accept(value)
    local forms = forms_of(value)
    return not string.find(forms, marked, 1, true) and forms or nil
  end
  local function compare(value)
    local forms = accept(value)
    return forms and is_like(forms, whole, edits) and forms or nil
  end
  local accept_compared = is_long and compare or accept

  allowed = TYPO_BUDGET
  local collected, dense = collector('t'), {}
  each_record_like(wanted, edits, entries, collected.add, function(three) dense[three] = true end)
  collected.judge_added(accept_compared)

  -- Goes through a list in the order of rank as long as there may be a better one, and of one rank through all.
  local function judge_list(key, choose)
    local function rank_at(record) return rank_of(place_of(record, key), is_gram(key)) end
    local from = key .. '\0' .. (after and after.kind == 't' and order_code(after.score) or '')
    local count, enough = 0, nil
    for records in reader(from, key .. '\1', 32) do
      local worst = collected.best[collected.needed]
      if worst and score_of(string.sub(records[1], #key + 2)) < worst.score then break end
      if out_of_time(allowed) or enough and rank_at(records[1]) ~= enough then break end
      local compared, others = choose(records)
      count = count + (collected.judge(compared, accept_compared)) + (collected.judge(others, compare))
      enough = count >= collected.needed and rank_at(records[#records])
    end
  end
  for three in pairs(dense) do
    judge_list('p' .. three, function(records) return ranked_like(records, three, wanted, edits) end)
  end
  if edits == 2 and not out_of_time(FINDING_BUDGET) then
    for _, list in ipairs(lists_of_rest(query)) do
      judge_list(list.key, function(records) return {}, beginning_with(query[1], records, list) end)
    end
  end
  take(collected.best, 't')
end

-- Goes on where a page was cut short, in the same list.
local function go_on(kind)
  if kind == 'c' and #query > 0 and #query < 3 then return walk_beginnings(plain) end
  for _, list in ipairs(lists_of_ends()) do
    if list.key == after.key then return walk({ list }, kind) end
  end
  walk({ list_of(after.key) }, kind)
end

local reached = not after
for _, kind in ipairs(KINDS) do
  reached = reached or kind == after.kind
  if reached and not cut and not resume and #results <= limit and is_asked(kind) then
    if after and after.place and after.kind == kind then go_on(kind) else ways[kind]() end
  end
  -- By the first of these all match, and none is left for the others, which would look at all of them in vain.
  if plain == '' and patterns[kind] and is_asked(kind) then break end
end

local more = #results > limit
results[limit + 1] = nil
local answers = {}
for i, candidate in ipairs(results) do
  local rest = rest_of_candidate(candidate)
  local text = rest[4] ~= '' and rest[4] or text_of_candidate(candidate)
  answers[i] = { candidate.kind, int(candidate.score), rest[3], text, rest[5] }
end
if more then
  local last = results[limit]
  if after and after.place and after.kind == last.kind then
    resume_at(last.kind, after.key, last.place, true)
  else
    resume = { last.kind, answers[limit][2], text_of_candidate(last), last.rest[3] }
  end
end
return { 'OK', profile, (cut or incomplete) and 1 or 0, resume or {}, answers }
