import type { Mutant } from './mutants';
import { luaPatch } from './patch';

/** Mistakes of a server. */
export const engineMutants = {
  'lost-swallowed': {
    about: 'a stream stays open and silent when its lease is lost',
    patches: [
      {
        file: 'src/leases/held-lease.ts',
        find: 'lose(cause: LossCause, byStore = false): void {',
        replace: 'lose(cause: LossCause, byStore = false): void {\n    this.ended = true;\n    return;',
      },
    ],
    faults: ['resource-deleted', 'store-flushed'],
    caughtBy: ['loss'],
  },
  'stale-stream-releases': {
    about: 'a broken stream releases its lease, even if another stream has attached to it',
    patches: [
      {
        file: 'src/leases/held-lease.ts',
        find: 'abandon(): void {',
        replace:
          'abandon(): void {\n    this.believedUntil = this.clock.now() + 1000;\n    this.releaseLate();',
      },
      ...luaPatch(" or (attach ~= '' and r.o ~= attach) then", ' then'),
    ],
    faults: ['rolling-restart', 'server-killed'],
    caughtBy: ['exclusion', 'over_issue', 'false_loss', 'truthful_offset'],
  },
  'late-from-a-buffer': {
    about: 'a delayed grant is delivered with an offset that counts from its delivery',
    patches: [
      {
        file: 'src/leases/lease.ts',
        find: 'return from + expireOffsetMs(from, end) <= now;',
        replace: 'return false;',
      },
      {
        file: 'src/leases/lease-id.ts',
        find: 'end: granted,',
        replace: 'end: { sentAt: performance.now(), remainingMs: granted.remainingMs },',
      },
    ],
    faults: ['server-stopped', 'store-link-slow'],
    caughtBy: ['exclusion', 'over_issue', 'truthful_offset'],
  },
  'dead-from-a-buffer': {
    about: 'a grant waits in a buffer, and is delivered after its deadline',
    patches: [
      {
        file: 'src/leases/attempt.ts',
        find: 'return grant;',
        replace:
          'if (grant.fencingToken % 16n === 0n)\n            await new Promise((done) => setTimeout(done, grant.remainingMs + 2000));\n        return grant;',
      },
    ],
    faults: [],
    play: { size: 'small' },
    caughtBy: ['dead_grant'],
  },
  'offset-from-a-message': {
    about: 'the offset of a grant after a wait counts from the pub/sub message about it',
    patches: [
      {
        file: 'src/leases/attempt.ts',
        find: 'reply = await context.store.claim(resource, wanted, waiter.ticket);',
        replace:
          'reply = await context.store.claim(resource, wanted, waiter.ticket);\n            reply = { ...reply, sentAt: context.clock.now() };',
      },
    ],
    faults: ['store-link-slow'],
    caughtBy: ['exclusion', 'over_issue', 'truthful_offset'],
  },
  'direct-grant-from-the-receipt': {
    about: 'the offset of a direct grant counts from the arrival of the reply with the grant',
    patches: [
      {
        file: 'src/leases/attempt.ts',
        find: 'sentAt: Math.max(grant.sentAt, this.asked.life.call.receivedAt)',
        replace: 'sentAt: this.context.clock.now()',
      },
    ],
    faults: ['store-link-slow'],
    caughtBy: ['exclusion', 'over_issue', 'truthful_offset'],
  },
  'direct-grant-by-reply-alone': {
    about:
      'a direct grant is noticed only by the reply that has the grant, not by a touch, and replies are lost',
    patches: [
      {
        file: 'src/leases/lease-context.ts',
        find: 'granted(resource: Resource, call: CallRef, grant: Granted): void {',
        replace:
          'granted(resource: Resource, call: CallRef, grant: Granted): void {\n    if (grant.fencingToken % 4n === 0n) return;',
      },
      ...luaPatch(
        "words[#words + 1] = rank and rank + 1 or 'RECHECK'",
        'words[#words + 1] = rank and rank + 1 or 1',
      ),
    ],
    faults: [],
    caughtBy: ['lost_wake_up', 'dead_grant'],
  },
  'reply-handled-last-speaks': {
    about: 'of two calls of a request on one server, the call whose reply is handled last gets the lease',
    patches: [
      {
        file: 'src/leases/wait-queue.ts',
        find: 'return known === undefined || confirmedAt > known.since;',
        replace: 'return true;',
      },
    ],
    faults: ['store-stopped', 'store-paused'],
    play: { size: 'small' },
    caughtBy: ['session'],
  },
  'failed-renewal-is-loss': {
    about: 'an unanswered renewal is reported as a loss',
    patches: [
      {
        file: 'src/leases/held-lease.ts',
        find: 'this.failing = true;',
        replace: "return this.lose('store-unavailable');",
      },
    ],
    faults: ['store-link-half-open', 'store-stopped'],
    caughtBy: ['false_loss'],
  },
  'short-leases-not-renewed': {
    about: 'a stream does not renew leases with a ttl below a second',
    patches: [
      {
        file: 'src/leases/held-lease.ts',
        find: 'return Math.min(this.ttlMs / 3, MAX_RENEWAL_INTERVAL_MS);',
        replace: 'return this.ttlMs < 1000 ? Infinity : Math.min(this.ttlMs / 3, MAX_RENEWAL_INTERVAL_MS);',
      },
      {
        file: 'src/leases/held-lease.ts',
        find: 'Math.min(granted.remainingMs / 2, this.renewalInterval())',
        replace: '(this.ttlMs < 1000 ? Infinity : Math.min(granted.remainingMs / 2, this.renewalInterval()))',
      },
    ],
    faults: [],
    caughtBy: ['false_loss'],
  },
} as const satisfies Record<string, Mutant>;
