#!lua
-- Changes entries in bounded steps. A reader sees an entry before or after its change.
--
-- KEYS  the dictionary's meta (shared/generations.lua)
-- ARGV  1 profile of the forms ("": no forms)  2 import id ("": the live generation and all imports)
--       then seven for each change: 'put', entry id, text ("": as folded), forms, weight, payload, aliases (JSON or "")
--                                or 'delete', entry id, and five empty arguments
--                                or 'select', entry id, number of selections, and four empty arguments
-- Reply OK, number of started changes, 1 if all of these are finished, and the result of each
--       (put: 1; delete: 1, or 0 without such an entry; select: selection count, or -1 without such an entry)
--       | UNKNOWN | PROFILE profile in force | LOST (no such import: another was committed, or the import was abandoned)
-- Holds A started change is finished by the next script of any server. If changes remain, the server calls again with
--       these. A batch of an import does not overwrite later changes.
--
-- @include shared/jobs.lua
local profile, import = ARGV[1], ARGV[2]

local build = import ~= '' and meta('build:' .. import)
local live = meta('live')
if import ~= '' and not build then return { 'LOST' } end
if import == '' and not live then return { 'UNKNOWN' } end
if profile ~= '' and meta('profile') ~= profile then return { 'PROFILE', meta('profile') } end
if build then redis.call('HSET', key_of('state', build), 'heard', int(started)) end

load_jobs()
local builds = import == '' and fields_of('build:') or {}

local function kept(generation, id)
  local number = generation and redis.call('HGET', key_of('ids', generation), id)
  return number and redis.call('HGET', key_of('entries', generation), number)
end

local function put(generation, at, known)
  local id, text, forms = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local selections = known and rest_of(known)[2] or 0
  local rest = { tonumber(ARGV[at + 4]), selections, id, text, ARGV[at + 5], ARGV[at + 6] }
  change_entry(generation, id, pack_entry(forms, rest))
end

local function add_selections(generation, id, times)
  local value = kept(generation, id)
  if not value then return -1 end
  local rest = rest_of(value)
  rest[2] = math.min(rest[2] + times, MOST_SELECTIONS)
  change_entry(generation, id, pack_entry(forms_of(value), rest))
  return rest[2]
end

local function change(at)
  local verb, id = ARGV[at], ARGV[at + 1]
  if build then
    if redis.call('HEXISTS', key_of('pins', build), id) == 0 then
      put(build, at, kept(live, id) or kept(build, id))
    end
    redis.call('HINCRBY', key_of('state', build), 'received', 1)
    return 1
  end
  local known = kept(live, id)
  if verb == 'select' then
    -- Selections of an entry that only an import has do not count.
    if not known then return -1 end
    for _, one in ipairs(builds) do add_selections(one[2], id, tonumber(ARGV[at + 2])) end
    return add_selections(live, id, tonumber(ARGV[at + 2]))
  end
  local targets = { live }
  for _, one in ipairs(builds) do
    targets[#targets + 1] = one[2]
    redis.call('HSET', key_of('pins', one[2]), id, 1)
  end
  for _, generation in ipairs(targets) do
    if verb == 'put' then put(generation, at, known) else change_entry(generation, id, false) end
  end
  return known and 1 or 0
end

local done = work_off_all()
local answers = {}
local at = 3
while done and at < #ARGV and not (at > 3 and spent()) do
  local answer = change(at)
  answers[#answers + 1] = ARGV[at] == 'put' and 1 or answer
  at = at + 7
  done = work_off_all()
end
save_jobs()
return { 'OK', #answers, done and 1 or 0, answers }
