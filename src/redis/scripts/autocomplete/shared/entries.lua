-- The stored form of an entry, and the index records that find the entry.
--
-- An entry is stored as: score (see `order_code`) .. forms .. \4 .. the rest in MessagePack { weight, selections, id, text
-- ("": as folded), payload, aliases (JSON, or "") }.
-- `forms` are the folded text and aliases with marked word starts, as engine/autocomplete/match.ts makes them:
-- \2 form \3 \2 form \3, with \1 in front of each word that is not at the beginning of its form. One plain search shows
-- how an entry matches:
-- \2query\3 exact, \2query prefix, \1query word prefix, query\3 suffix, query contains.
--
-- Records, n being the entry's number in five bytes, and rank = order_code(score) .. start of the folded text:
--   a \0 rank \0 n              every entry, the best first
--   p ccc \0 rank \0 n m        entries with a form that begins with these 1 to 3 characters, the best first; m is \1 for
--                              an alias, else \0
--   w ccc \0 rank \0 n          entries with a later word that begins with these characters
--   g ccc \0 rank \0 n m b a    entries that contain these 3 characters, or end with these 1 or 2 (and \3 for the end); b
--                              and a are the last bytes of the characters before and after, or \2 and \3
--   f form \0 n h m             each form, in order; h is the height of the score (two bytes)
--   d i ccc \0 n h m            the first 14 characters of each form without the i-th (a byte, 2 to 6); only with typos
--   v words \0 n h m            each form from each later word on, up to 56 bytes
-- A record is a hint, and only the entry decides: a record may appear early and stay late. An entry with a new score or
-- new forms gets a new number, so old and new records always differ.
--

-- Characters of the folded text in a rank. If texts are equal in these characters, queries order the entries.
local RANK_TEXT = 40

local GRAM_RANK_TEXT = 6

local WORD_BYTES = 56

-- The last character that a typo record leaves out, and the number of characters in such a record.
local LEFT_OUT = 6

local TYPO_CHARACTERS = 14

-- More than the score of any entry.
local MOST_SCORE = 9007199254740992

local CHARACTER = '[%z\1-\127\194-\244][\128-\191]*'

-- A string that sorts scores from high to low: 8 minus the number of bytes, then the inverted bytes.
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

-- The height of a score in two bytes: its logarithm with ten fractional bits. Heights find the best of many records
-- without their entries. Scores that differ by less than a thousandth may have the same height.
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

-- The folded text, which orders entries of equal score.
local function text_of(forms)
  local text = string.sub(forms, 2, string.find(forms, '\3', 1, true) - 1)
  return string.find(text, '\1', 1, true) and string.gsub(text, '\1', '') or text
end

local function pack_entry(forms, rest)
  return order_code(rest[1] + rest[2]) .. forms .. '\4' .. cmsgpack.pack(rest)
end

local function pack_number(n) return struct.pack('>I5', n) end
