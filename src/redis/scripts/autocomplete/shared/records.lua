-- The records by which an entry is found in the index (entries.lua describes them).
-- @include generations.lua
-- @include entries.lua

local typos = string.sub(meta('profile') or '', 2, 2) == 't'

-- Visits the records of an entry in a fixed order from `cursor` on until `stop` returns true, and updates `cursor`:
-- { start of the next form, its next character }. A record may be visited twice. Returns true if all were visited.
local function visit_records(value, number, cursor, visit, stop)
  local code, forms = code_of(value), forms_of(value)
  local text = text_of(forms)
  local tail = '\0' .. number
  local rank = '\0' .. code .. string.sub(text, 1, RANK_TEXT) .. tail
  local height = struct.pack('>I2', height_of(score_of(code)))
  local gram_rank = '\0' .. code .. string.sub(text, 1, GRAM_RANK_TEXT)
  visit('a' .. rank)
  while cursor[1] <= #forms do
    local _, last, form = string.find(forms, '\2([^\3]*)\3', cursor[1])
    local characters, starts = {}, {}
    for character in string.gmatch(form, CHARACTER) do
      if character == '\1' then
        starts[#characters + 1] = true
      else
        characters[#characters + 1] = character
      end
    end
    local count = #characters
    local mark = cursor[1] == 1 and '\0' or '\1'
    local ending = tail .. height .. mark
    characters[count + 1] = '\3'
    -- A text of accents only may fold to an empty form, which is still listed.
    if count == 0 then visit('f' .. ending) end
    local function beginnings(kind, from, rest)
      for to = from, math.min(from + 2, count) do
        visit(kind .. table.concat(characters, '', from, to) .. rest)
      end
    end
    for position = cursor[2], count do
      if stop() then
        cursor[2] = position
        return false
      end
      if position == 1 then
        beginnings('p', 1, rank .. mark)
        visit('f' .. table.concat(characters, '', 1, count) .. ending)
        for i = 2, typos and math.min(count, LEFT_OUT) or 0 do
          local rest = table.concat(characters, '', i + 1, math.min(count, TYPO_CHARACTERS))
          visit('d' .. string.char(i) .. table.concat(characters, '', 1, i - 1) .. rest .. ending)
        end
      end
      if starts[position] then
        beginnings('w', position, rank)
        local words = table.concat(characters, '', position, math.min(count, position + WORD_BYTES - 1))
        visit('v' .. string.sub(words, 1, WORD_BYTES) .. ending)
      end
      local around = string.sub(characters[position - 1] or '\2', -1) .. string.sub(characters[position + 3] or '\3', -1)
      local gram = table.concat(characters, '', position, math.min(position + 2, count + 1))
      visit('g' .. gram .. gram_rank .. tail .. mark .. around)
    end
    cursor[1], cursor[2] = last + 1, 1
  end
  return true
end
