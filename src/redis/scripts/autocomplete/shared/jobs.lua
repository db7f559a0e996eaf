-- A change of an entry adds the new records, then replaces the entry, then removes the old records. A reader sees the old
-- or the new entry. An unfinished change stays in `jobs` of meta, and the next script of any server finishes it first.
--
-- A job: { generation, entry id, old number, old value, new number, new value, phase, cursor }; a missing number or value
-- is false. Phases: 'add', then `publish`, then 'remove'.
--
-- @include index.lua
-- @include records.lua

-- Time budget of a script (us).
local WRITE_BUDGET = 700

-- The maximum of an entry's selections. The sum with the largest weight is still exact.
local MOST_SELECTIONS = 4503599627370495

-- The clock is read for every fourth check of the time only.
local asked_for_time = 0

local function spent()
  asked_for_time = asked_for_time + 1
  return asked_for_time % 4 == 0 and elapsed() > WRITE_BUDGET
end

local jobs = {}

local jobs_kept = false

-- Jobs of garbage generations are dropped.
local function load_jobs()
  local packed = meta('jobs')
  if not packed then return end
  jobs_kept = true
  for _, job in ipairs(cmsgpack.unpack(packed)) do
    if redis.call('HEXISTS', KEYS[1], 'garbage:' .. job[1]) == 0 then jobs[#jobs + 1] = job end
  end
end

local function save_jobs()
  if #jobs > 0 then
    redis.call('HSET', KEYS[1], 'jobs', cmsgpack.pack(jobs))
  elseif jobs_kept then
    redis.call('HDEL', KEYS[1], 'jobs')
  end
end

local function publish(generation, id, old_number, old, new_number, new)
  local entries, ids = key_of('entries', generation), key_of('ids', generation)
  if new then
    redis.call('HSET', entries, new_number, new)
    redis.call('HSET', ids, id, new_number)
  else
    redis.call('HDEL', ids, id)
  end
  if old and old_number ~= new_number then redis.call('HDEL', entries, old_number) end
  local change = (new and 1 or 0) - (old and 1 or 0)
  if change ~= 0 then redis.call('HINCRBY', key_of('state', generation), 'count', change) end
end

-- True when the job is finished.
local function work_off(job)
  local generation, id, old_number, old, new_number, new = unpack(job, 1, 6)
  use_index(generation)
  if job[7] == 'add' then
    if new and new_number ~= old_number and not visit_records(new, new_number, job[8], insert_record, spent) then
      return false
    end
    publish(generation, id, old_number, old, new_number, new)
    job[7], job[8] = 'remove', { 1, 1 }
  end
  return not old or new_number == old_number or visit_records(old, old_number, job[8], remove_record, spent)
end

-- True when no job is left. The function takes at least one step.
local function work_off_all()
  while jobs[1] do
    if not work_off(jobs[1]) then return false end
    table.remove(jobs, 1)
    if jobs[1] and spent() then return false end
  end
  return true
end

-- Continues unfinished jobs for one budget; true when no job is left.
local function go_on_with_jobs()
  load_jobs()
  local done = work_off_all()
  save_jobs()
  return done
end

-- Adds a job that gives an entry of a generation this value, or deletes the entry (false).
local function change_entry(generation, id, new)
  local old_number = redis.call('HGET', key_of('ids', generation), id)
  local old = old_number and redis.call('HGET', key_of('entries', generation), old_number)
  if not (old or new) then return end
  local new_number = false
  if new and old and code_of(old) == code_of(new) and forms_of(old) == forms_of(new) then
    new_number = old_number
  elseif new then
    new_number = pack_number(redis.call('HINCRBY', key_of('state', generation), 'next', 1))
  end
  jobs[#jobs + 1] = { generation, id, old_number or false, old or false, new_number, new, 'add', { 1, 1 } }
end

-- Removes the keys of a generation for one budget; true when no key is left.
local function take_apart(generation)
  use_index(generation)
  while not spent() do
    local parts = redis.call('ZRANGE', index.parts, 0, 31)
    if #parts == 0 then
      for _, part in ipairs({ 'entries', 'ids', 'state', 'pins' }) do redis.call('UNLINK', key_of(part, generation)) end
      redis.call('HDEL', KEYS[1], 'garbage:' .. generation)
      return true
    end
    for _, part in ipairs(parts) do redis.call('UNLINK', index.part .. part) end
    redis.call('ZREM', index.parts, unpack(parts))
  end
  return false
end
