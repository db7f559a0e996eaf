import fc from 'fast-check';
import type { RequestChoice } from './asked-request';
import type { CommandOutcome } from '../model-store';
import type { OldSession } from './client-process';

/** A server, a process, and an element of a list: the newest for 0. */
const on = fc.nat(2);
const who = fc.nat(1);
const pick = fc.oneof(fc.nat(2), fc.nat(20));
/** Which open session of a process: mostly the newest. */
const age = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(3) });
/** What becomes of the session before. */
const old = fc.constantFrom<OldSession[]>('broken', 'stalled', 'stalled', 'open');
const request = {
  resource: fc.nat(2),
  isSmall: fc.boolean(),
  hasShortTtl: fc.boolean(),
  waits: fc.constantFrom<RequestChoice['waits'][]>('not', 'for a time', 'until cancelled'),
  freshness: fc.nat(4),
  pick,
};

type Arbitraries<Fields> = { readonly [Key in keyof Fields]: fc.Arbitrary<Fields[Key]> };

function kind<Kind extends string, Fields extends object>(
  weight: number,
  name: Kind,
  fields: Arbitraries<Fields>,
) {
  const all = { kind: fc.constant(name), ...fields } as Arbitraries<{ readonly kind: Kind } & Fields>;
  return { weight, arbitrary: fc.record<{ readonly kind: Kind } & Fields>(all) };
}

/** One step of a history of sessions, unary calls and hold streams. */
export const anAction = fc.oneof(
  kind(6, 'acquire', { who, age, ...request }),
  kind(3, 'attach', { who, age, pick }),
  kind(3, 'release', { who, age, pick, byId: fc.boolean() }),
  kind(1, 'update', { who, age, pick }),
  kind(2, 'cancel', { who, age, pick }),
  kind(4, 'next', { who, on, old, attaches: fc.boolean() }),
  kind(2, 'flow', { who, age: fc.nat(3) }),
  kind(2, 'silence', { who, age, isSilent: fc.boolean() }),
  kind(1, 'stall', { who, age }),
  kind(1, 'stop-reading', { who, age }),
  kind(1, 'break', { who, age }),
  kind(2, 'plain-acquire', { on, ...request }),
  kind(2, 'hold', { on, ...request }),
  kind(1, 'hold-attach', { on, pick }),
  kind(1, 'plain-renew', { on, pick }),
  kind(2, 'plain-release', { on, pick }),
  kind(1, 'plain-cancel', { pick }),
  kind(1, 'revoke', { on, resource: fc.nat(2) }),
  kind(7, 'pass', { ms: fc.constantFrom(1, 30, 300, 700, 1600, 3500) }),
  kind(1, 'jump', { ms: fc.constantFrom(300, 1600, 5000) }),
);
export type Action = typeof anAction extends fc.Arbitrary<infer Drawn> ? Drawn : never;

export const outcomes = fc.infiniteStream(
  fc.oneof(
    { weight: 12, arbitrary: fc.constant<CommandOutcome>('answered') },
    { weight: 1, arbitrary: fc.constant<CommandOutcome>('reply-lost') },
    { weight: 1, arbitrary: fc.constant<CommandOutcome>('not-arrived') },
    { weight: 1, arbitrary: fc.constant<CommandOutcome>('sent-twice') },
    { weight: 1, arbitrary: fc.constantFrom<CommandOutcome[]>('runs-late', 'copy-runs-late') },
  ),
);

/** The time that a reply needs on its way (ms). Replies of one server overtake each other. */
export const replyTimes = fc.infiniteStream(fc.constantFrom(0, 0, 1, 4, 20, 60));

/** The greatest difference of two clock rates is 2 × 245 ppm, below the 500 ppm that the offsets allow for. */
export const rate = fc.constantFrom(1 - 0.000245, 1, 1 + 0.000245);
