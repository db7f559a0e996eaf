-- Finds texts that begin nearly like the query. Records that leave a character out (as in SymSpell, W. Garbe, 2012) find
-- edits at the beginning. Comparisons find later edits.
--
-- @include matching.lua

-- The lengths of a query from which one edit and two edits are allowed.
local ONE_EDIT = 4

local TWO_EDITS = 8

-- The maximum number of records examined for one beginning, with one edit and with two.
local MOST_BELOW = { 256, 192 }

-- The work of comparing two texts (see LEAST_WORK), with one edit and with two.
local COMPARISON = { 1, 3 }

-- The query as characters and bytes, and for each first byte of a character (and the end) the number of characters from
-- there on and their text.
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

-- True if a text from byte `at` on begins with the wanted text from byte `p` on, with at most `edits` edits. The text ends
-- at a \0.
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

-- True if one of an entry's forms begins like the query.
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

-- The beginnings of records of forms with one edit at the i-th character of the query, and the number of the query's
-- characters that each beginning covers. A wrong last character equals a missing one.
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

-- Visits the first three characters of the entries of these records, if they begin with `first`.
local function threes_of(records, entries, first, visit)
  visit_entries(records, entries, {}, function(value)
    local three = string.match(text_of(forms_of(value)), '^' .. string.rep(CHARACTER, 3))
    if three and string.sub(three, 1, #first) == first then visit(three) end
  end)
end

-- The length of the head of a query with two edits: the head has at most one edit, or both, or one edit and a swap of its
-- last character with the next.
local function head_of_two(query) return math.min(LEFT_OUT, #query - 3) end

-- Calls `found` with each record of a form that begins like the query, or, if too many records share a beginning,
-- `dense` with their first three characters. An entry may be found twice. At most one of two edits is in the head.
local function each_record_like(wanted, edits, entries, found, dense)
  local query = wanted.query
  local function text(from, to) return table.concat(query, '', from, to) end
  -- Visits the records that begin with `head`, which covers `count` characters of the query with `used` edits. False if
  -- there are too many.
  local function visit(used, head, count)
    if not head or out_of_time(FINDING_BUDGET) then return true end
    local records = all_below(head, MOST_BELOW[edits])
    if not records then
      if string.byte(head) == 102 or string.byte(head, 2) > 3 then
        dense(string.match(head, string.rep(CHARACTER, 3), string.byte(head) == 102 and 2 or 3))
      else
        -- Records without their second or third character: mostly all have the same character there.
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
  -- If too many records share a beginning and another edit may follow, at least those without another edit are visited.
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

-- Divides records of the ranked list of three characters: records with a text that begins like the query, and records
-- that need the entry, because an alias may begin like the query or the record holds too little text.
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

-- The records of a gram that fit and have a text that begins with this character, or an alias.
local function beginning_with(character, records, list)
  local some = {}
  for _, record in ipairs(records) do
    local start = 11 + #list.key - string.byte(record, #list.key + 2)
    local fitting = string.sub(record, start, start + #character - 1) == character or string.byte(record, -3) == 1
    if fitting and fits(record, list) then some[#some + 1] = record end
  end
  return some
end

-- The lists of entries that may have two edits in the head: the rest of the query has no edit, and its grams find the
-- entries; or one edit, and the last character of the head is swapped with the next.
local function lists_of_rest(query)
  local head = head_of_two(query)
  return {
    (shortest_of(grams_of({ unpack(query, head + 1) }, 1))),
    list_of('g' .. query[head + 1] .. query[head] .. query[head + 2], nil, query[head + 3]),
  }
end
