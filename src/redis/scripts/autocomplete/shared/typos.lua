-- Texts that begin with something like the query. Edits at the beginning are found by records that leave a character
-- out (as SymSpell does, W. Garbe, 2012), those further on by comparing each record with that beginning.
--
-- @include matching.lua

-- From how many characters on one edit is allowed, and two.
local ONE_EDIT = 4

local TWO_EDITS = 8

-- Of one beginning no more records are looked at where one edit is allowed, and where two are, which are compared.
local MOST_BELOW = { 256, 192 }

-- What it is to compare two texts, as work (see LEAST_WORK).
local COMPARISON = { 1, 3 }

-- What is looked for: the query's characters, its bytes, and of each byte that begins a character (and the end) how many
-- characters there are from it on, and these.
local function wanted_of(query)
  local text = table.concat(query)
  local wanted = { query = query, bytes = { string.byte(text, 1, -1) }, at = {}, left = {}, rest = {} }
  local at = 1
  for i = 1, #query + 1 do
    wanted.at[i], wanted.left[at], wanted.rest[at] = at, #query - i + 1, string.sub(text, at)
    at = at + #(query[i] or '')
  end
  return wanted
end

local function bytes_of_character(byte) return byte < 128 and 1 or byte < 224 and 2 or byte < 240 and 3 or 4 end

-- Whether a text, from byte `at` to its end or a \0, begins with what is wanted from byte `p` on, within so many edits.
local function begins_like(text, at, wanted, p, edits)
  local bytes, rest = wanted.bytes, wanted.rest
  local byte = string.byte(text, at)
  while byte and byte == bytes[p] do
    p, at = p + 1, at + 1
    byte = string.byte(text, at)
  end
  while not rest[p] do p, at = p - 1, at - 1 end
  if wanted.left[p] <= edits then return true end
  byte = string.byte(text, at)
  if edits == 0 or not byte or byte == 0 then return false end
  local after, next_p = at + bytes_of_character(byte), p + bytes_of_character(bytes[p])
  if edits == 1 then
    local short, long = rest[next_p], rest[p]
    if string.sub(text, after, after + #short - 1) == short or string.sub(text, at, at + #short - 1) == short or
      string.sub(text, after, after + #long - 1) == long then return true end
  elseif begins_like(text, after, wanted, next_p, 1) or begins_like(text, at, wanted, next_p, 1) or
    begins_like(text, after, wanted, p, 1) then
    return true
  end
  if byte ~= bytes[next_p] or string.byte(text, after) ~= bytes[p] then return false end
  local beyond = next_p + bytes_of_character(bytes[next_p])
  local end_of_both = at + beyond - p
  return string.sub(text, at, end_of_both - 1) == string.sub(rest[next_p], 1, beyond - next_p) ..
    string.sub(rest[p], 1, next_p - p) and begins_like(text, end_of_both, wanted, beyond, edits - 1)
end

-- Whether one of an entry's forms begins like the query.
local function is_like(forms, wanted, edits)
  local first, from = wanted.query[1], 1
  index.work = index.work + COMPARISON[edits]
  while from < #forms do
    local last = string.find(forms, '\3', from, true)
    if string.sub(forms, from + 1, from + #first) == first then
      local form = string.sub(forms, from + 1, last - 1)
      if string.find(form, '\1', 1, true) then form = string.gsub(form, '\1', '') end
      if begins_like(form, #first + 1, wanted, #first + 1, edits) then return true end
    end
    from = last + 1
  end
  return false
end

-- What records begin with whose form begins with the query's first characters but for an edit at the i-th, and how many
-- of the query's characters that stands for. That the last of them is wrong is the same as that it is missing.
local VARIANTS = {
  function(text, i, count) return 'f' .. text(1, i - 1) .. text(i + 1, count), count end,
  function(text, i, count)
    return i < count and 'f' .. text(1, i - 1) .. text(i + 1, i + 1) .. text(i, i) .. text(i + 2, count), count
  end,
  function(text, i, count)
    count = math.min(count, LEFT_OUT)
    return i <= LEFT_OUT and 'd' .. string.char(i) .. text(1, count), count
  end,
  function(text, i, count)
    local last = math.min(count, LEFT_OUT + 1)
    return i < count and i <= LEFT_OUT and 'd' .. string.char(i) .. text(1, i - 1) .. text(i + 1, last), last
  end,
}

-- The first three characters of the entries with these records, where the first is this one.
local function threes_of(records, entries, first, visit)
  visit_entries(records, entries, {}, function(value)
    local three = string.match(text_of(forms_of(value)), '^' .. string.rep(CHARACTER, 3))
    if three and string.sub(three, 1, #first) == first then visit(three) end
  end)
end

-- Of two edits one at most is among so many of the first characters, or both are, or one and a swap of the last of them
-- and the next.
local function head_of_two(query) return math.min(LEFT_OUT, #query - 3) end

-- Calls `found` with each record of a form that begins like the query, but where too many begin alike `dense` with the
-- first three characters of these; an entry may be found more than once. Of two edits these have one at most among the
-- first characters.
local function each_record_like(wanted, edits, entries, found, dense)
  local query = wanted.query
  local function text(from, to) return table.concat(query, '', from, to) end
  -- What begins with `head`, which stands for the query's first characters with so many edits used; whether it could.
  local function visit(used, head, count)
    if not head or out_of_time(FINDING_BUDGET) then return true end
    local records = all_below(head, MOST_BELOW[edits])
    if not records then
      if string.byte(head) == 102 or string.byte(head, 2) > 3 then
        dense(string.match(head, string.rep(CHARACTER, 3), string.byte(head) == 102 and 2 or 3))
      else
        -- Of those without their second or third character: mostly it is one and the same.
        incomplete = true
        threes_of(reader(head, head .. '\255', 8)(), entries, query[1], dense)
      end
      return false
    end
    if #records == 0 then return true end
    local compared, p = count < #query, wanted.at[count + 1]
    if compared then index.work = index.work + #records * COMPARISON[edits] / 2 end
    for _, record in ipairs(records) do
      if not compared or begins_like(record, #head + 1, wanted, p, edits - used) then found(record) end
    end
    return true
  end
  -- Where too many begin alike, and another edit may follow, then at least what has no other one.
  local function visit_variants(from, to, count)
    for i = from, to do
      for _, variant in ipairs(VARIANTS) do
        if not visit(1, variant(text, i, count)) and count < #query then visit(1, variant(text, i, #query)) end
      end
    end
  end
  local head = edits == 1 and #query or head_of_two(query)
  local whole = edits == 1 and LEFT_OUT or head - 1
  if whole < #query and not visit(0, 'f' .. text(1, whole), whole) and edits == 2 then
    visit_variants(head, #query, #query)
  end
  visit_variants(2, math.min(head, whole), head)
end

-- Of the ranked list of three characters the records whose text begins like the query, and those of which only the
-- entry can tell: it is an alias that begins with them, or there is too little of the text.
local function ranked_like(records, three, wanted, edits)
  local like, others = {}, {}
  local first = #wanted.query[1]
  local too_short = #wanted.bytes + 4 * edits > RANK_TEXT
  index.work = index.work + #records * COMPARISON[edits] / 2
  for _, record in ipairs(records) do
    if too_short or string.byte(record, -1) == 1 then
      others[#others + 1] = record
    else
      local start = #three + 12 - string.byte(record, #three + 3)
      if begins_like(record, start + first, wanted, first + 1, edits) then like[#like + 1] = record end
    end
  end
  return like, others
end

-- Of a gram's records those that fit and whose text begins with this character; where an alias has the gram, all.
local function beginning_with(character, records, list)
  local some = {}
  for _, record in ipairs(records) do
    local start = 11 + #list.key - string.byte(record, #list.key + 2)
    local fitting = string.sub(record, start, start + #character - 1) == character or string.byte(record, -3) == 1
    if fitting and fits(record, list) then some[#some + 1] = record end
  end
  return some
end

-- The lists of records of what may have two edits among its first characters: then the rest is whole and found by its
-- grams; or one, and the last of them is swapped with the next.
local function lists_of_rest(query)
  local head = head_of_two(query)
  return {
    (shortest_of(grams_of({ unpack(query, head + 1) }, 1))),
    list_of('g' .. query[head + 1] .. query[head] .. query[head + 2], nil, query[head + 3]),
  }
end
