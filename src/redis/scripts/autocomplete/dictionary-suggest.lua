#!lua flags=no-writes
-- Finds the best entries that match a query, kind by kind; read-only.
--
-- KEYS  the dictionary's meta (shared/generations.lua)
-- ARGV  1, 2 the folded query with accents kept, and with accents dropped; word starts marked (engine/autocomplete/match.ts)
--       3 wanted kinds, of 'epwsct'  4 maximum number of entries
--       5 continue after this kind ("": from the start) and  6 score  7 folded text  8 entry id
--         or 6 "+": before all entries of the kind
--         or 6 "=", 7 a list and a place in the list (hexadecimal), 8 where the page before that place continued (JSON)
-- Reply OK, profile, 1 if the page was cut short, where to continue { kind, score, folded text, entry id } or {}, and for
--       each entry: kind, score, entry id, text, payload
--       | UNKNOWN
-- Holds Each entry appears once, with its best wanted kind, in the order of rank. A page that is cut short has no gap,
--       except for typos and for `contains` with one or two characters; its order is right, except within one rank.
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

-- Returns the forms of a value that matches by this kind and by no better wanted kind; else nil.
local function accepting(kind)
  local own, better = patterns[kind], {}
  for _, other in ipairs(KINDS) do
    if other == kind then break end
    if patterns[other] and is_asked(other) then better[#better + 1] = patterns[other] end
  end
  return function(value)
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

-- Collects the best matches of a kind from unordered records. Each record has a height, and only entries of the highest
-- records are examined.
local function collector(kind)
  local best, known, needed = {}, {}, limit + 1 - #results
  -- Higher records were on an earlier page.
  local highest = the_highest(needed + SPARE, height_of(after and after.kind == kind and after.score or MOST_SCORE))
  -- Examines entries; returns the number of candidates, and whether there was time for all entries.
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
  -- False if there was no time to find the best matches.
  local function judge_added(accept)
    local first, rest = highest.divided()
    local _, all = judge(first, accept)
    if all and #best < needed then _, all = judge(rest, accept) end
    return all
  end
  return { best = best, needed = needed, add = highest.add, judge = judge, judge_added = judge_added }
end

-- Adds the best of unordered candidates.
local function take_best(found, kind)
  local best, needed = {}, limit + 1 - #results
  for _, candidate in ipairs(found) do
    if is_new(candidate, kind, 0) then offer(best, candidate, needed, 0) end
  end
  take(best, kind)
end

-- Adds candidates that the index has ordered by rank, after it has ordered the candidates within each rank.
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

-- The next page continues at this record, in the order of records, which differs from the order of texts within a rank.
-- The page also keeps the entry after which the first of these pages continued. Records of an examined entry are skipped.
local function resume_at(kind, key, place, was_visited)
  if was_visited and is_gram(key) then place = string.sub(place, 1, -4) end
  local digits = string.gsub(key .. '\0' .. place, '.', function(c) return string.format('%02x', string.byte(c)) end)
  local bound = after and after.kind == kind and after.text and cjson.encode({ int(after.score), after.text, after.id })
  resume = { kind, '=', digits, bound or '' }
end

-- Examines lists in the order of rank until the page is full. True at the end of the lists. Entries that do not match
-- are passed to `otherwise`.
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
  -- Only a part of the entries of a gram's list matches, so each command reads more entries of such a list.
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
      -- If the page continues after an entry, only entries of the same rank may have been shown before.
      local new = by_records and is_new(candidate, kind, 0) or not by_records and
        (candidate.rank ~= from or is_new(candidate, kind, alike))
      if new then found[#found + 1] = candidate end
    end, list)
    last = place_at(reached)
    -- The order of candidates with the rank of the last record is not final, because the next record may have the same
    -- rank. So only the candidates before these candidates count.
    local closed = #found
    while not by_records and closed > 0 and found[closed].rank == rank_of(last, of_grams) do closed = closed - 1 end
    if closed >= needed then last = nil end
  until not last or out_of_time(allowed)
  -- If the page is full (`room` is 0), this walk only finds out whether there is another match. One found match is
  -- enough.
  local cut_here = last and cut and (room > 0 or #found == 0)
  if (cut_here or by_records) and #found > room then last = found[room].place end
  if (cut_here or by_records) and (cut_here or #found > room) then
    while #found > room do found[#found] = nil end
    resume_at(kind, lists[1].key, last, known[number_in(last, of_grams)])
  end
  if by_records then take(found, kind) else take_ranked(found, kind, alike) end
  return whole
end

-- Examines all records with this beginning if the records are few. Otherwise, or without enough time, examines one
-- list. This is the ranked list, which has the order of the answers, or the list of a gram if it is much shorter.
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

-- Finds `contains` matches of one or two characters in the lists of all grams that begin with these characters. If
-- there are too many lists, only the first MOST_LISTS are examined.
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

-- Lists that contain all entries that end with the query. The last list has only such entries.
local function lists_of_ends()
  local lists = grams_of(query, 1)
  lists[#lists + 1] = list_of('g' .. table.concat(query, '', math.max(1, #query - 1)) .. '\3', query[#query - 2])
  return lists
end

-- The matches by `suffix` and `contains` of a list that was examined as a whole. A rare query would otherwise examine the
-- list twice.
local sifted = nil

-- Examines the shortest gram's list as a whole if it is short enough; otherwise lists are examined in the order of rank.
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
  -- Records hold only the beginnings of forms. The rest of a long query is compared with the entry.
  local whole = wanted_of(query)
  local is_long = #query > TYPO_CHARACTERS - edits
  local wanted = is_long and wanted_of({ unpack(query, 1, TYPO_CHARACTERS - edits) }) or whole
  -- An entry that matches in any other way contains the whole query.
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

  -- Examines a list in the order of rank while a better match may follow, and always to the end of a rank.
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

-- Continues where a page was cut short, in the same list.
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
  -- All entries match an empty query by the first such kind, so later kinds have nothing to find.
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
