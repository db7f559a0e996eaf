import type { Mutant } from './mutants';
import { luaPatch } from './patch';

/** Mistakes in the Lua scripts. */
export const scriptMutants = {
  'no-owner-compare': {
    about: 'a release frees any holder of the name',
    patches: [
      ...luaPatch(
        "if not is_known or request.state ~= HELD or (attach ~= '' and request.answered ~= attach) then",
        `if not request or request.state ~= HELD then
id = lease_ids[1] or id
request = rare().load(id)
end
if not request or request.state ~= HELD then`,
      ),
    ],
    faults: [],
    caughtBy: ['exclusion', 'resurrection', 'false_loss'],
  },
  'resend-without-idempotence': {
    about: 'a repeated request counts as a new one',
    patches: [
      ...luaPatch(
        `local request = records[id]
if request and request.state == ENDED then
if request.attach ~= attach`,
        `local request = nil
if request and request.state == ENDED then
if request.attach ~= attach`,
      ),
    ],
    faults: ['reply-dropped'],
    caughtBy: ['idempotence'],
  },
  'wake-up-by-message-alone': {
    about: 'an offer is noticed only by its pub/sub message, not by a touch',
    patches: [
      ...luaPatch(
        'then rare().send_hint(request.attach, id) end\nend\nend\ngrant_next()',
        'then end\nend\nend\ngrant_next()',
      ),
      ...luaPatch(
        "words[#words + 1] = rank and rank + 1 or 'RECHECK'",
        'words[#words + 1] = rank and rank + 1 or 1',
      ),
    ],
    faults: ['hints-cut'],
    caughtBy: ['lost_wake_up'],
  },
  'no-liveness-check': {
    about: 'waiters of a dead server get offers like all others',
    patches: [
      ...luaPatch(
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
      ...luaPatch(
        `store(id, {
state = ENDED, cause = cause, attach = request.attach, secret = request.secret, identity = request.identity,
fencing_token = is_returnable and request.fencing_token or nil, ticket = is_returnable and request.ticket or nil,
})`,
        'request.state, request.cause = ENDED, cause\nstore(id, request)',
      ),
      ...luaPatch(
        'if not is_known or request.state ~= HELD or not may_renew or request.revoked then',
        `if is_known and request.state == ENDED then
meta.used = meta.used + request.permits
request.state = HELD
set_end(id, now)
store(id, request)
end
if not is_known or request.state ~= HELD or not may_renew or request.revoked then`,
      ),
    ],
    faults: [],
    caughtBy: ['resurrection', 'exclusion'],
  },
  'renewal-revives-revoked': {
    about: 'renewing a revoked lease extends the lease',
    patches: [
      ...luaPatch(
        'if not is_known or request.state ~= HELD or not may_renew or request.revoked then',
        'if not is_known or request.state ~= HELD or not may_renew then',
      ),
    ],
    faults: [],
    caughtBy: ['resurrection'],
  },
  'revocation-frees': {
    about: 'a revocation without force frees the permits at once',
    patches: [...luaPatch('if force then\nend_lease', 'if true then\nend_lease')],
    faults: [],
    caughtBy: ['exclusion', 'over_issue'],
  },
  'counter-only-token': {
    about: 'tokens are a counter without the clock',
    patches: [
      ...luaPatch(
        'meta.last_token = math.max(meta.last_token + 1, now)',
        'meta.last_token = meta.last_token + 1',
      ),
    ],
    faults: ['resource-deleted', 'store-flushed'],
    caughtBy: ['fencing'],
  },
  'permits-leaked-on-cancel': {
    about: 'the permits of a cancelled offer stay counted as used',
    patches: [
      ...luaPatch(
        "if request.state == OFFERED then remove('offers', id) else remove_end(id) end\nmeta.used = meta.used - request.permits",
        "if request.state == OFFERED then remove('offers', id) else remove_end(id) end",
      ),
      // Without this patch, the scripts correct the count whenever a name has no holders.
      ...luaPatch('meta.used = 0\nreturn permits <= meta.limit', 'return false'),
    ],
    faults: [],
    caughtBy: ['lost_wake_up', 'dead_grant', 'leak'],
  },
  lifo: {
    about: 'the youngest waiter is served first',
    patches: [
      ...luaPatch(
        "redis.call('ZRANGE', key_of('queue'), '0', '0')[1]",
        "redis.call('ZRANGE', key_of('queue'), '-1', '-1')[1]",
      ),
    ],
    faults: [],
    caughtBy: ['fifo'],
  },
  'double-grant-on-reconnect': {
    about: 'a held request that is repeated by a stream gets a new lease',
    patches: [
      ...luaPatch(
        'request.attach, request.answered, request.returnable = attach, attach, 0\nrequest.ttl = math.max(request.ttl, ttl)',
        `request.attach, request.answered, request.returnable = attach, attach, 0
request.ttl = math.max(request.ttl, ttl)
take_permits(request)
meta.used = meta.used - request.permits
request.secret = secret`,
      ),
    ],
    faults: [],
    caughtBy: ['idempotence'],
  },
  'lowered-limit-ignored': {
    about: 'a lowered limit is ignored',
    patches: [
      ...luaPatch(
        'meta.limit = limit\nif limit ~= before',
        'limit = math.max(before, limit)\nmeta.limit = limit\nif limit ~= before',
      ),
    ],
    faults: [],
    caughtBy: ['over_issue'],
  },
  'renewal-shortens': {
    about: 'a renewal may shorten the lease',
    patches: [
      ...luaPatch(
        'set_end(id, math.max(end_of(id), now + (ttl > 0 and ttl or request.ttl)))',
        'set_end(id, now + (ttl > 0 and ttl or request.ttl))',
      ),
    ],
    faults: [],
    caughtBy: ['exclusion', 'truthful_offset', 'over_issue'],
  },
  'newcomer-passes-after-stall': {
    about: 'all waiters count as dead right after a stall of the store',
    patches: [...luaPatch('if not own_only and now - meta.seen > STALL_US then', 'if false then')],
    faults: ['store-stopped'],
    play: { pace: 'apart', size: 'crowded' },
    caughtBy: ['fifo'],
  },
  'weights-not-counted': {
    about: 'every lease counts as one permit',
    patches: [
      ...luaPatch(
        'meta.used = meta.used + request.permits\nmeta.last_token',
        'meta.used = meta.used + 1\nmeta.last_token',
      ),
      ...luaPatch('if meta.used + permits <= meta.limit', 'if meta.used + 1 <= meta.limit'),
    ],
    faults: [],
    caughtBy: ['over_issue', 'exclusion'],
  },
} as const satisfies Record<string, Mutant>;
