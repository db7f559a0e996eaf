#!lua
-- Changes entries, in bounded steps, each entry at one stroke.
--
-- KEYS  the dictionary's meta (shared/generations.lua)
-- ARGV  1 profile that the forms were made with ("": there are none)  2 import id ("": the live generation, and what is being built)
--       then for each change seven: 'put', entry id, text ("": as folded), forms, weight, payload, aliases (JSON or "")
--                                or 'delete', entry id, and five empty ones
--                                or 'select', entry id, how often, and four empty ones
-- Reply OK, how many of the changes are begun, 1 if they are also done, what each came to
--       (put: 1; delete: 1, or 0 if there was none; select: selection count, or -1 if there is no such entry)
--       | UNKNOWN | PROFILE the one in force | LOST (no such import: another was committed, or it was given up)
-- Holds A change that is begun is carried out, by whoever comes next. Not done: call again without those begun, to
--       the end. A batch of an import leaves alone what was changed meanwhile.
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
    -- Of one that only an import has, nothing is counted either.
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
