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
      'epochs/epoch-adopt.lua': ['true for `after ~= before`'],
      'leases/permits-acquire.lua': [
        "`is_queue_empty and 0 or redis.call('ZCARD', QUEUE_KEY)` without `is_queue_empty and 0`",
      ],
      'leases/permits-limit.lua': ['true for `change.misfits`'],
      'leases/permits-renew.lua': [
        '`refusal and end_of(id) + clock_shift <= rival_until` without `refusal`',
        "`attach == '' and request.answered ~= ''` without `request.answered ~= ''`",
        'true for `has_changed` (2)',
      ],
      'leases/permits-touch.lua': [
        "`has_waiters and ARGV[3] or ''` without `has_waiters and ARGV[3]`",
        '`has_waiters and ARGV[3]` without `has_waiters`',
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
    reason: 'Redis answers true as 1.',
    mutants: { 'leases/permits-inspect.lua': ['`more and 1` without `1`'] },
  },
];
