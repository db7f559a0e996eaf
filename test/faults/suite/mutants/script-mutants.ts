import type { Mutant } from './mutants';
import { luaPatch } from './patch';

/** Mistakes in the Lua scripts. */
export const scriptMutants = {
  'no-owner-compare': {
    about: 'a release frees any holder of the name',
    patches: [
      luaPatch(
        "if not r or r.k ~= secret or r.s ~= 'H' or (attach ~= '' and r.o ~= attach) then",
        `if not r or r.s ~= 'H' then
id = redis.call('ZRANGE', ENDS, '0', '0')[1] or id
r = load(id)
end
if not r or r.s ~= 'H' then`,
      ),
    ],
    faults: [],
    caughtBy: ['exclusion', 'resurrection', 'false_loss'],
  },
  'resend-without-idempotence': {
    about: 'a repeated request counts as a new one',
    patches: [
      luaPatch(
        `local r = records[id]
if r and r.s == 'E' then return answer(retention, 'FINISHED', r.c) end
if not exists(initial_limit)`,
        `local r = nil
if not exists(initial_limit)`,
      ),
    ],
    faults: ['reply-dropped'],
    caughtBy: ['idempotence'],
  },
  'wake-up-by-message-alone': {
    about: 'an offer is noticed only by its pub/sub message, not by a touch',
    patches: [
      luaPatch(
        'if r and server_of(r.a) == server then wake(r.a, id) end\nend\nend\npromote()',
        'end\nend\npromote()',
      ),
      luaPatch(
        "words[#words + 1] = rank and rank + 1 or 'LOOK'",
        'words[#words + 1] = rank and rank + 1 or 1',
      ),
    ],
    faults: ['hints-cut'],
    caughtBy: ['lost_wake_up'],
  },
  'no-liveness-check': {
    about: 'waiters of a dead server get offers like all others',
    patches: [
      luaPatch(
        'local function is_silent(server)',
        'local function is_silent(server)\nif server then return false end',
      ),
    ],
    faults: ['machine-killed'],
    play: { size: 'crowded' },
    caughtBy: ['recovery', 'lost_wake_up', 'dead_grant', 'leak'],
  },
  'renewal-resurrects': {
    about: 'renewing an ended lease recreates it',
    patches: [
      luaPatch("store(id, { s = 'E', c = cause, a = r.a, k = r.k })", "r.s, r.c = 'E', cause\nstore(id, r)"),
      luaPatch(
        "if not known or r.s ~= 'H' or not speaks or r.v then",
        `if known and r.s == 'E' then
redis.call('ZREM', ENDED, id)
meta.used = meta.used + r.n
r.s = 'H'
store(id, r)
end
if not known or r.s ~= 'H' or not speaks or r.v then`,
      ),
    ],
    faults: [],
    caughtBy: ['resurrection', 'exclusion'],
  },
  'counter-only-token': {
    about: 'tokens are a counter without the clock',
    patches: [luaPatch('meta.token = math.max(meta.token + 1, now)', 'meta.token = meta.token + 1')],
    faults: ['resource-deleted', 'store-flushed'],
    caughtBy: ['fencing'],
  },
  'permits-leaked-on-cancel': {
    about: 'the permits of a cancelled offer stay counted as used',
    patches: [
      luaPatch(
        "if r.s == 'O' then redis.call('ZREM', OFFERS, id) else end_lease(id) end\nmeta.used = meta.used - r.n",
        "if r.s == 'O' then redis.call('ZREM', OFFERS, id) else end_lease(id) end",
      ),
      // Without this patch the count is corrected whenever a name has no holders.
      luaPatch('meta.used = 0\nreturn permits <= meta.limit', 'return false'),
    ],
    faults: [],
    caughtBy: ['lost_wake_up', 'dead_grant', 'leak'],
  },
  lifo: {
    about: 'the youngest waiter is served first',
    patches: [
      luaPatch(
        "local id = redis.call('ZRANGE', QUEUE, '0', '0')[1]",
        "local id = redis.call('ZREVRANGE', QUEUE, '0', '0')[1]",
      ),
    ],
    faults: [],
    caughtBy: ['fifo'],
  },
  'double-grant-on-reconnect': {
    about: 'a held request that is repeated by a stream gets a new lease',
    patches: [
      luaPatch(
        'r.a, r.o, r.w, r.l = attach, attach, 0, math.max(r.l, ttl)',
        `r.a, r.o, r.w, r.l = attach, attach, 0, math.max(r.l, ttl)
take_permits(r)
meta.used = meta.used - r.n
r.k = secret`,
      ),
    ],
    faults: [],
    caughtBy: ['idempotence'],
  },
  'lowered-limit-ignored': {
    about: 'a lowered limit is ignored',
    patches: [
      luaPatch(
        "meta.limit = limit\nredis.call('SET', LIMIT, int(limit))",
        "meta.limit = math.max(before, limit)\nredis.call('SET', LIMIT, int(meta.limit))",
      ),
    ],
    faults: [],
    caughtBy: ['over_issue'],
  },
  'renewal-shortens': {
    about: 'a renewal may shorten the lease',
    patches: [
      luaPatch(
        'lease_until(id, math.max(end_of(id), now + (ttl > 0 and ttl or r.l)))',
        'lease_until(id, now + (ttl > 0 and ttl or r.l))',
      ),
    ],
    faults: [],
    caughtBy: ['exclusion', 'truthful_offset', 'over_issue'],
  },
  'newcomer-passes-after-stall': {
    about: 'all waiters count as dead right after a stall of the store',
    patches: [luaPatch('if now - meta.seen > STALL_US then', 'if false then')],
    faults: ['store-stopped'],
    play: { pace: 'apart', size: 'crowded' },
    caughtBy: ['fifo'],
  },
  'weights-not-counted': {
    about: 'every lease counts as one permit',
    patches: [
      luaPatch('meta.used = meta.used + r.n\nmeta.token', 'meta.used = meta.used + 1\nmeta.token'),
      luaPatch('if meta.used + permits <= meta.limit', 'if meta.used + 1 <= meta.limit'),
    ],
    faults: [],
    caughtBy: ['over_issue', 'exclusion'],
  },
} as const satisfies Record<string, Mutant>;
