-- Texts that begin with something like the query. Edits at the beginning are found by records that leave a character
-- out (as SymSpell does, W. Garbe, 2012), those further on by looking at each form with that beginning.

-- From how many characters on one edit is allowed, and two.
local ONE_EDIT = 4

local TWO_EDITS = 8

-- Of one beginning no more records are looked at where one edit is allowed, and where two are, which take longer each.
local MOST_BELOW = { 48, 100 }

-- What it is to compare two texts, as work (see LEAST_WORK).
local COMPARISON = { 3, 6 }

-- The character at a byte of a record's form, or nil at its end.
local function character_at(record, at)
  local byte = string.byte(record, at)
  if byte == nil or byte == 0 then return nil end
  local length = byte < 128 and 1 or byte < 224 and 2 or byte < 240 and 3 or 4
  return string.sub(record, at, at + length - 1)
end

-- Whether the form from byte `at` on begins with the query from its character `i` on, within so many edits.
local function begins_like(record, at, query, i, edits)
  local c = character_at(record, at)
  while query[i] and c == query[i] do
    i, at = i + 1, at + #c
    c = character_at(record, at)
  end
  if not query[i] or #query - i + 1 <= edits then return true end
  if edits == 0 then return false end
  if begins_like(record, at, query, i + 1, edits - 1) then return true end
  if c == nil then return false end
  local after = at + #c
  if begins_like(record, after, query, i + 1, edits - 1) then return true end
  if begins_like(record, after, query, i, edits - 1) then return true end
  if c ~= query[i + 1] or character_at(record, after) ~= query[i] then return false end
  return begins_like(record, after + #query[i], query, i + 2, edits - 1)
end

-- Whether one of an entry's forms begins like the query.
local function is_like(forms, query, edits)
  local first, from = query[1], 1
  index.work = index.work + COMPARISON[edits]
  while from < #forms do
    local last = string.find(forms, '\3', from, true)
    if string.sub(forms, from + 1, from + #first) == first then
      local form = string.sub(forms, from + 1, last - 1)
      if string.find(form, '\1', 1, true) then form = string.gsub(form, '\1', '') end
      if begins_like(form, #first + 1, query, 2, edits) then return true end
    end
    from = last + 1
  end
  return false
end

-- Calls `visit` with what records begin with whose form begins with the query's first characters but for one edit. That
-- the last of them is wrong is the same as that it is missing.
local function each_variant(query, count, visit)
  local function text(from, to) return table.concat(query, '', from, to) end
  for i = 2, count do
    local before = text(1, i - 1)
    if i < count then visit('f' .. before .. query[i + 1] .. query[i] .. text(i + 2, count)) end
    visit('f' .. before .. text(i + 1, count))
    if i <= LEFT_OUT then
      local skipped = 'd' .. string.char(i)
      visit(skipped .. text(1, math.min(count, LEFT_OUT)))
      if i < count then visit(skipped .. before .. text(i + 1, math.min(count, LEFT_OUT + 1))) end
    end
  end
end

-- Records of forms that certainly begin like the query, and such of forms that perhaps do; an entry may be there more
-- than once. Where too many begin alike there are instead the first three characters of these, whose list has them in
-- the order of rank.
local function records_like(query, edits, entries)
  local certain, likely, many = {}, {}, {}
  -- What begins with `head`, which stands for the query's first characters with so many edits used.
  local function visit(head, count, used)
    if out_of_time(TYPO_BUDGET) then return end
    local records = all_below(head, MOST_BELOW[edits])
    local whole = string.byte(head) == 102
    if not records then
      if whole or string.byte(head, 2) > 3 then
        many[string.match(head, string.rep(CHARACTER, 3), whole and 2 or 3)] = true
      else
        -- Of those without their second or third character: mostly it is one and the same.
        incomplete = true
        local first = reader(head, head .. '\255', 8)()
        visit_entries(first, entries, {}, function(value)
          local three = string.match(text_of(forms_of(value)), '^' .. string.rep(CHARACTER, 3))
          if three and string.sub(three, 1, #query[1]) == query[1] then many[three] = true end
        end)
      end
      return
    end
    local left = edits - used
    if whole and count < #query then index.work = index.work + #records * COMPARISON[edits] / 2 end
    for _, record in ipairs(records) do
      if count == #query and (whole or count <= LEFT_OUT) then
        certain[#certain + 1] = record
      elseif not whole then
        likely[#likely + 1] = record
      elseif begins_like(record, #head + 1, query, count + 1, left) then
        certain[#certain + 1] = record
      end
    end
  end
  local function visit_variants(count)
    each_variant(query, count, function(head) visit(head, count, 1) end)
  end
  local function visit_whole(count) visit('f' .. table.concat(query, '', 1, count), count, 0) end

  -- One edit first: it is the likelier slip, should the time not be enough for two.
  if #query > LEFT_OUT then visit_whole(LEFT_OUT) end
  visit_variants(#query)
  if edits == 1 then return certain, likely, many end
  -- One edit at most is among the first characters; or both, and then the rest is whole and found by its grams; or one,
  -- and the last of them is swapped with the next.
  local head = math.min(LEFT_OUT, #query - 3)
  if head < LEFT_OUT then visit_whole(head) end
  visit_variants(head)
  local rest = shortest_of(grams_of({ unpack(query, head + 1) }, 1))
  local swapped = list_of('g' .. query[head + 1] .. query[head] .. query[head + 2], nil, query[head + 3])
  for _, list in ipairs({ rest, swapped }) do
    for records in reader(list.key .. '\0', list.key .. '\1', 128) do
      for _, record in ipairs(records) do
        -- Ranks have the beginning of the text, by which most need not be looked at; an alias has another one.
        local start = 11 + #list.key - string.byte(record, #list.key + 2)
        local fitting = string.sub(record, start, start + #query[1] - 1) == query[1] or string.byte(record, -3) == 1
        if fitting and fits(record, list) then likely[#likely + 1] = record end
      end
      if out_of_time(TYPO_BUDGET) then break end
    end
  end
  return certain, likely, many
end
