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
      'entries/entries-create.lua': ['true for `not live`'],
      'epochs/epoch-adopt.lua': ['true for `after ~= before`'],
      'leases/permits-acquire.lua': [
        '`request.attach ~= attach and request.fencing_token` without `request.fencing_token`',
        "`is_queue_empty and 0 or redis.call('ZCARD', QUEUE_KEY)` without `is_queue_empty and 0`",
      ],
      'leases/permits-limit.lua': ['true for `change.misfits`'],
      'leases/permits-renew.lua': [
        '`refusal and end_of(id) + clock_shift <= rival_until` without `refusal`',
        "`attach == '' and request.answered ~= ''` without `request.answered ~= ''`",
        'true for `has_changed` (2)',
      ],
      'leases/shared/answer.lua': [
        'true for `had_change`',
        'true for `had_change` (2)',
        'true for `not meta.limit or not stored.limit or meta.till ~= stored.till`',
      ],
      'leases/shared/end-of.lua': [
        "`known_ends[id] or tonumber(redis.call('ZSCORE', ENDS_KEY, id))` without `known_ends[id]`",
      ],
      'leases/shared/find-or-create.lua': ['true for `meta.limit ~= nil`'],
      'leases/shared/grant-next.lua': [
        "`next(known_ends) or redis.call('ZCARD', ENDS_KEY) + redis.call('ZCARD', OFFERS_KEY) > 0` without `next(known_ends)`",
        "`offer_count or redis.call('ZCARD', OFFERS_KEY)` without `offer_count`",
      ],
      'leases/shared/hold.lua': ['true for `request.state == OFFERED`'],
      'leases/shared/purge.lua': [
        'true for `first_end <= now`',
        'delete `known_ends[first[1]] = first_end`',
        "`known_ends[own_id] or tonumber(redis.call('ZSCORE', key, own_id))` without `known_ends[own_id]`",
      ],
      'leases/shared/state.lua': ['delete `records[id] = request`'],
    },
  },
  {
    reason: 'A direct grant of the own request is in the answer to the script too, which decides.',
    mutants: {
      'leases/shared/grant-next.lua': [
        '`id ~= own_id and request.ttl <= DIRECT_TTL_US` without `id ~= own_id`',
      ],
    },
  },
  {
    reason:
      'A lower bound that is too low costs a command: the script looks for due members, and finds none.',
    mutants: {
      'leases/shared/find-or-create.lua': [
        '`meta.offers, meta.detached, meta.ended = NEVER, NEVER, NEVER` without `meta.offers`',
        '`meta.offers, meta.detached, meta.ended = NEVER, NEVER, NEVER` without `meta.detached`',
        '`meta.offers, meta.detached, meta.ended = NEVER, NEVER, NEVER` without `meta.ended`',
        'delete `meta.offers, meta.detached, meta.ended = NEVER, NEVER, NEVER`',
      ],
      'leases/shared/purge.lua': [
        'delete `if now < meta[name] then return {} end`',
        "delete `if #ids < BATCH then local left = redis.call('ZRANGEBYSCORE', key, '(' .. NOW_TEXT, '+inf', 'WITHSCO...`",
        'delete `meta[name] = tonumber(left[2]) or NEVER`',
      ],
    },
  },
  {
    reason: 'The code spares the comparison of each part of two equal epochs.',
    mutants: {
      'leases/shared/epoch-check.lua': [
        'delete `if epoch == expected then own_only = nil return nil end`',
        'delete `return nil`',
      ],
    },
  },
  {
    reason: 'Any number that is later than every time has the same effect.',
    mutants: {
      'leases/shared/constants.lua': [
        '4503599627370495 in `local NEVER = 9007199254740991`',
        '18014398509481982 in `local NEVER = 9007199254740991`',
      ],
    },
  },
  {
    reason: 'Lua converts a text to a number when it calculates. The conversion states the type.',
    mutants: {
      'epochs/epoch-adopt.lua': [
        '`longest, since = math.max(tonumber(longest) or 0, quarantine), tonumber(since)` without `since`',
        '`ends_at, shift = tonumber(ends_at), tonumber(shift)` without `shift`',
      ],
    },
  },
  {
    reason: 'A hint or recheck more costs one message: the server asks, and finds nothing new.',
    mutants: {
      'leases/permits-acquire.lua': [
        '`is_stream(request.attach) and server_of(request.attach) ~= server` without `server_of(request.attach) ~= server`',
        '`is_stream(request.attach) and server_of(request.attach) ~= server` without `is_stream(request.attach)`',
        '`request.attach ~= attach and server_of(request.attach) ~= server` without `server_of(request.attach) ~= server`',
        '`request.attach ~= attach and server_of(request.attach) ~= server` without `request.attach ~= attach`',
      ],
      'leases/permits-release.lua': ["`attach == '' and is_stream(request.attach)` without `attach == ''`"],
      'leases/permits-renew.lua': [
        '`is_stream(request.attach) and server_of(request.attach) ~= server` without `server_of(request.attach) ~= server`',
        '`is_stream(request.attach) and server_of(request.attach) ~= server` without `is_stream(request.attach)`',
      ],
      'leases/permits-touch.lua': [
        '`request and server_of(request.attach) == server` without `server_of(request.attach) == server`',
      ],
    },
  },
  {
    reason: 'The bound limits the time of the script. More or fewer samples estimate the same memory.',
    mutants: {
      'entries/entries-inspect.lua': [
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
      'leases/permits-inspect.lua': ['`more and 1` without `1`'],
      'leases/shared/answer.lua': ['`more and 1` without `1`'],
    },
  },
  {
    reason: 'The server reads a missing value as 0, or as an empty text.',
    mutants: {
      'leases/shared/answer.lua': ['`more and 1 or 0` without `0`'],
      'leases/shared/answer-finished.lua': ["`request.fencing_token or ''` without `''`"],
      'leases/shared/holder-view.lua': ['`request.revoked or 0` without `0`'],
    },
  },
];
