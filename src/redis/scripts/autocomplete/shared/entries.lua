-- An entry as it is kept, and the records by which it is found.
--
-- Kept is: score (see `order_code`) .. forms .. \4 .. the rest in msgpack { weight, selections, id, text
-- ("": as folded), payload, aliases (JSON, or "") }.
-- `forms` are the folded text and aliases with their word starts marked, as engine/match.ts makes them:
-- \2 form \3 \2 form \3, with \1 in front of each word but the first. So one plain search each tells how an entry
-- matches: \2query\3 exactly, \2query as a prefix, \1query at a word, query\3 at the end, query anywhere.
--
-- Records, n being the entry's number in five bytes, and rank = order_code(score) .. start of the folded text:
--   a \0 rank \0 n              every entry, the best first
--   p ccc \0 rank \0 n m        those of which a form begins with these 1 to 3 characters, the best first; m is \1 where
--                              an alias does, else \0
--   w ccc \0 rank \0 n          ... with a word, other than its first, that begins so
--   g ccc \0 rank \0 n m b a    ... that contains these 3, or ends with these 1 or 2 (and \3 for the end); b and a are the
--                              last bytes of the characters before and after, \2 and \3 where there are none
--   f form \0 n h m             each form, in order; h is its score's height (two bytes)
--   d i ccc \0 n h m            ... its first 14 characters, without the i-th (a byte, 2 to 6), where typos are looked for
--   v words \0 n h m            each form from each of its words on, but the first; 56 bytes of it
-- A record is a hint: what counts is the entry, so records may be there too early and stay too long. An entry whose
-- score or forms change gets a new number, so that its old records and its new ones are never the same.
--
-- @include generations.lua

-- How much of a folded text is in a rank. Ties beyond that are put in order when they are read.
local RANK_TEXT = 40

local GRAM_RANK_TEXT = 6

local WORD_BYTES = 56

-- The last character that is left out, for typos, and how many there are of a form where one is.
local LEFT_OUT = 6

local TYPO_CHARACTERS = 14

-- Above that of any entry.
local MOST_SCORE = 9007199254740992

local CHARACTER = '[%z\1-\127\194-\244][\128-\191]*'

-- Orders scores from high to low as strings: 8 - number of bytes, then the bytes, inverted.
local function order_code(score)
  local code = ''
  while score > 0 do
    code = string.char(255 - score % 256) .. code
    score = math.floor(score / 256)
  end
  return string.char(8 - #code) .. code
end

local function score_of(code)
  local score = 0
  for i = 2, 9 - string.byte(code) do score = score * 256 + 255 - string.byte(code, i) end
  return score
end

-- A score in two bytes, by which the best of many records are told without a look at their entries: its logarithm, with
-- ten bits behind the point. Scores that differ by less than a thousandth may have the same one.
local function height_of(score)
  if score == 0 then return 0 end
  local fraction, exponent = math.frexp(score)
  return (exponent - 1) * 1024 + math.floor((fraction * 2 - 1) * 1024) + 1
end

local function code_of(value) return string.sub(value, 1, 9 - string.byte(value)) end

local function forms_of(value)
  local from = 10 - string.byte(value)
  return string.sub(value, from, string.find(value, '\4', from, true) - 1)
end

local function rest_of(value)
  return cmsgpack.unpack(string.sub(value, string.find(value, '\4', 10 - string.byte(value), true) + 1))
end

-- The folded text, by which entries of equal score are in order.
local function text_of(forms)
  local text = string.sub(forms, 2, string.find(forms, '\3', 1, true) - 1)
  return string.find(text, '\1', 1, true) and string.gsub(text, '\1', '') or text
end

local function pack_entry(forms, rest)
  return order_code(rest[1] + rest[2]) .. forms .. '\4' .. cmsgpack.pack(rest)
end

local function pack_number(n) return struct.pack('>I5', n) end

local typos = string.sub(meta('profile') or '', 2, 2) == 't'

-- Visits an entry's records in an order that is always the same, from `cursor` on, and leaves in it how far it has
-- come: { where the next form begins, its next character }. Visits may be repeated; they end when `stop` says so.
-- Returns whether all were visited.
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
    -- The empty form of a text of nothing but accents that are dropped: it is listed all the same.
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
