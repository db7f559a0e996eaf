/** Mutants that no test can notice, by reason and file. */
export interface Explanation {
  readonly reason: string;
  /** The changes by file. A change has the name that the run prints. */
  readonly mutants: Readonly<Record<string, readonly string[]>>;
}

export const EXPLANATIONS: readonly Explanation[] = [
  {
    reason: 'The code spares a command or a write. The result is the same.',
    mutants: {
      'autocomplete/scripts/entries-create.lua': ['true for `not live`'],
      'redis/scripts/epoch-adopt.lua': ['true for `after ~= before`'],
      'leases/scripts/lease-acquire.lua': [
        '`request.attach ~= attach and request.fencing_token` without `request.fencing_token`',
        'true for `request.state == DETACHED`',
      ],
      'leases/scripts/lease-inspect.lua': ['`meta.limit == nil and is_semaphore()` without `is_semaphore()`'],
      'leases/scripts/lease-limit.lua': [
        'true for `limit < before or before == 0`',
        'true for `change.misfits`',
      ],
      'leases/scripts/shared/state.lua': [
        'delete `if meta.limit ~= 0 then return nil end`',
        "`is_semaphore() and tonumber(redis.call('GET', limit_key()))` without `is_semaphore()`",
        "`not record and id ~= ''` without `id ~= ''`",
        "`unpack_record(redis.call('HGET', STATE_KEY, 'r' .. id)) or read_past(id) or false` without `false`",
        'delete `records[id] = request`',
        'true for `meta[part] > 0`',
        'true for `meta[part] > 0` (2)',
      ],
      'leases/scripts/lease-revoke.lua': [
        "`meta.queue > 0 and redis.call('ZRANGE', key_of('queue'), int(first), int(position - 1 + BATCH))` without `meta.queue > 0`",
        "`meta.offers > 0 and redis.call('ZRANGE', key_of('offers'), '0', MAX_OFFERS - 1)` without `meta.offers > 0`",
        '`0` for `math.max(0, position - 1 - BATCH)`',
      ],
      'leases/scripts/lease-list.lua': [
        "`meta.is_spilled == 1 and redis.call('ZCOUNT', key_of('ends'), '(' .. int(latest), '+inf') > 0` without `meta.is_spilled == 1`",
        "`meta.offers > 0 and redis.call('ZCOUNT', key_of('offers'), '(' .. now_text, '+inf') > 0` without `meta.offers > 0`",
        'delete `more = false`',
        '`more and 1` without `1`',
      ],
      'leases/scripts/lease-renew.lua': [
        '`refusal and end_of(id) + clock_shift <= rival_until` without `refusal`',
        "`attach == '' and request.answered ~= ''` without `request.answered ~= ''`",
        "`metadata ~= '' and metadata ~= request.metadata` without `metadata ~= request.metadata`",
        'true for `has_changed` (2)',
      ],
      'leases/scripts/lease-watch.lua': ['`meta.limit == nil and is_semaphore()` without `is_semaphore()`'],
      'leases/scripts/lease-touch.lua': [
        '`has_waiters and meta.offers > 0` without `meta.offers > 0`',
        '`has_waiters and meta.limit` without `meta.limit`',
      ],
      'leases/scripts/shared/answers.lua': [
        'true for `had_change`',
        'true for `had_change` (2)',
        '`is_shown_changed and watchers` without `watchers`',
        'true for `is_expiring`',
      ],
      'leases/scripts/shared/queue.lua': [
        '`#lease_ids > 0 or has_holders()` without `#lease_ids > 0`',
        'delete `if not fits(1) then return false end`',
        "`meta.queue > 0 and redis.call('ZRANGE', key_of('queue'), '0', '0')[1]` without `meta.queue > 0`",
        '`own_only or not meta.limit or not fits(1)` without `not fits(1)`',
        '`meta.queue == 0 or grant_waiters()` without `meta.queue == 0`',
      ],
      'leases/scripts/shared/leases.lua': [
        'true for `request.state == OFFERED`',
        'true for `not known_ends[id]`',
        'delete `known_ends[id] = lease_ends[i]`',
        'delete `known_ends[id] = time`',
        'delete `return` (3)',
      ],
      'leases/scripts/shared/layout.lua': ['true for `not key_start`'],
      'leases/scripts/shared/names.lua': ['delete `if not is_first then return end`'],
      'leases/scripts/shared/other-names.lua': [
        '`meta.limit == nil and has_semaphores` without `has_semaphores`',
      ],
      'leases/scripts/shared/purge.lua': [
        'true for `time <= now or time > now + LONGEST_US`',
        'true for `leases_due`',
        'true for `offers_due`',
        'true for `places_due`',
        'true for `tombstones_due`',
        "`meta.ends_due > now + LONGEST_US and redis.call('ZRANGE', key_of('ends'), '0', BATCH - 1, 'WITHSCORE...` without `meta.ends_due > now + LONGEST_US`",
        "`meta.offers > 0 and redis.call('ZRANGEBYSCORE', key_of('offers'), unpack(later))` without `meta.offers > 0`",
      ],
      'leases/scripts/shared/views.lua': [
        "`meta.offers > 0 and redis.call('ZRANGE', key_of('offers'), '0', '0', 'WITHSCORES')` without `meta.offers > 0`",
        'true for `meta.offers > 0`',
        "`meta.queue > 0 and redis.call('ZRANGE', key_of('queue'), 0, max_shown - 1)` without `meta.queue > 0`",
      ],
      'leases/scripts/shared/transitions.lua': [
        'true for `request.state == WAITING`',
        "`meta.offers > 0 and redis.call('ZRANGE', key_of('offers'), 0, BATCH - 1)` without `meta.offers > 0`",
        '`left > 0 and count > 0` without `count > 0`',
      ],
    },
  },
  {
    reason:
      'No script removes a lease that is not there, reads the end of a lease that it has removed, or moves leases back to the head after it has moved them away.',
    mutants: {
      'leases/scripts/shared/leases.lua': [
        '`lease_ids, lease_ends, meta.is_spilled = {}, {}, 1` without `lease_ends`',
        'delete `if not i then return end`',
        'delete `known_ends[id] = nil`',
      ],
    },
  },
  {
    reason: 'For a name without a head, every script sets the number to 0 before its first use.',
    mutants: { 'leases/scripts/shared/layout.lua': ['delete `past_number = 0`'] },
  },
  {
    reason: 'A direct grant of the own request is in the answer to the script too, which decides.',
    mutants: {
      'leases/scripts/shared/queue.lua': [
        '`id ~= own_id and request.ttl <= DIRECT_TTL_US` without `id ~= own_id`',
      ],
    },
  },
  {
    reason: 'The code spares the comparison of each part of two equal epochs.',
    mutants: {
      'leases/scripts/shared/epoch-check.lua': [
        'delete `if epoch == expected and now <= not_after then return nil end`',
      ],
    },
  },
  {
    reason: 'Any number that is later than every time has the same effect.',
    mutants: {
      'leases/scripts/shared/layout.lua': [
        '4503599627370495 in `local NEVER = 9007199254740991`',
        '18014398509481982 in `local NEVER = 9007199254740991`',
      ],
    },
  },
  {
    reason: 'Lua converts a text to a number when it calculates. The conversion states the type.',
    mutants: {
      'redis/scripts/epoch-adopt.lua': [
        '`longest, since = math.max(tonumber(longest) or 0, quarantine), tonumber(since)` without `since`',
        '`ends_at, shift = tonumber(ends_at), tonumber(shift)` without `shift`',
      ],
    },
  },
  {
    reason: 'A hint or recheck more costs one message: the server asks, and finds nothing new.',
    mutants: {
      'leases/scripts/lease-acquire.lua': [
        '`is_holding(request.attach) and server_of(request.attach) ~= calling_server` without `server_of(request.attach) ~= calling_server`',
        '`is_holding(request.attach) and server_of(request.attach) ~= calling_server` without `is_holding(request.attach)`',
        '`request.attach ~= attach and server_of(request.attach) ~= calling_server` without `server_of(request.attach) ~= calling_server`',
        '`request.attach ~= attach and server_of(request.attach) ~= calling_server` without `request.attach ~= attach`',
      ],
      'leases/scripts/lease-release.lua': [
        "`attach == '' and is_holding(request.attach)` without `attach == ''`",
      ],
      'leases/scripts/lease-renew.lua': [
        '`is_holding(request.attach) and server_of(request.attach) ~= calling_server` without `server_of(request.attach) ~= calling_server`',
        '`is_holding(request.attach) and server_of(request.attach) ~= calling_server` without `is_holding(request.attach)`',
      ],
      'leases/scripts/lease-touch.lua': [
        '`request and server_of(request.attach) == calling_server` without `server_of(request.attach) == calling_server`',
      ],
    },
  },
  {
    reason: 'The bound limits the time of the script. More or fewer samples estimate the same memory.',
    mutants: {
      'autocomplete/scripts/entries-inspect.lua': [
        '40 in `local SAMPLES = 20`',
        '10 in `local SAMPLES = 20`',
        '`of.buckets` for `math.min(of.buckets, most_samples)`',
        '`most_samples` for `math.min(of.buckets, most_samples)`',
      ],
    },
  },
  {
    reason: 'Redis answers true as 1.',
    mutants: {
      'leases/scripts/lease-inspect.lua': ['`more and 1` without `1`'],
      'leases/scripts/lease-watch.lua': ['`more and 1` without `1`'],
      'leases/scripts/shared/answers.lua': ['`more and 1` without `1`'],
    },
  },
  {
    reason: 'The server reads a missing value as 0, or as an empty text.',
    mutants: {
      'leases/scripts/shared/answers.lua': [
        '`more and 1 or 0` without `0`',
        "`request.fencing_token or ''` without `''`",
      ],
      'leases/scripts/lease-withdraw.lua': ["`request and request.ticket or ''` without `''`"],
    },
  },
];

/** As above, for the mutants of the functions that only the library of leases has (library-mutants.slow.test.ts). */
export const LIBRARY_EXPLANATIONS: readonly Explanation[] = [
  {
    reason: 'Each operation that reads the variable assigns it before, by `begin`.',
    mutants: {
      'leases/scripts/lease-library.lua': [
        'delete `stored_seen = now`',
        '`stored_seen = now` only once',
        'delete `had_change = false`',
        '`had_change = false` only once',
        'delete `watchers = false`',
        '`watchers = false` only once',
        "delete `own_id = ''`",
        "`own_id = ''` only once",
      ],
    },
  },
  {
    reason: 'Each operation that reads the variables assigns them before, by `open_index`.',
    mutants: {
      'leases/scripts/lease-library.lua': [
        "`index_key, state_start, has_semaphores = '', '', false` without `index_key`",
        "`index_key, state_start, has_semaphores = '', '', false` without `state_start`",
        "`index_key, state_start, has_semaphores = '', '', false` without `has_semaphores`",
        "delete `index_key, state_start, has_semaphores = '', '', false`",
        "`index_key, state_start, has_semaphores = '', '', false` only once",
      ],
    },
  },
  {
    reason:
      '`key_of` assigns `key_end` together with `key_start`, and `past_numbers` is read for a request in `past_times`.',
    mutants: {
      'leases/scripts/lease-library.lua': [
        '`key_start, key_end = nil, nil` without `key_end`',
        'delete `if next(past_numbers) then past_numbers = {} end`',
      ],
    },
  },
  {
    reason: 'An operation has a name for each of its arguments, and Lua drops further ones.',
    mutants: { 'leases/scripts/lease-library.lua': ['an operation gets the arguments of later ones'] },
  },
];
