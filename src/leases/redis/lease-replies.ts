import type { HolderView, LossCause, Mode, Resource, ResourceView, WaiterView } from '../lease';
import type {
  AcquireReply,
  CallRef,
  ClaimReply,
  Finished,
  Granted,
  QueueSnapshot,
  ReleaseReply,
  RemoveReply,
  Renewed,
  RenewReply,
  RevokeCursor,
  RevokeReply,
  SetLimitReply,
  TouchReply,
  Waiting,
  WatchedView,
  WithdrawReply,
} from '../lease-store';
import type { GuardedReply } from '../../redis/commands';
import type { Reply } from '../../redis/script';

/** Translates the reply of each script, which the script's header comment describes, into the engine's types. */

export function parseAcquire(reply: GuardedReply): AcquireReply {
  switch (reply.word) {
    case 'REFUSED':
      return { kind: 'refused', snapshot: parseSnapshot(reply.values[0]) };
    case 'MISMATCH':
      return { kind: 'mismatch', field: reply.values[0] as 'mode' | 'permit_count' | 'holder_id' };
    case 'QUEUE_FULL':
      return { kind: 'queue-full', waiterCount: Number(reply.values[0]) };
    default:
      return parseClaim(reply);
  }
}

export function parseClaim(reply: GuardedReply): ClaimReply {
  return reply.word === 'SUPERSEDED' ? { kind: 'superseded' } : parseAdmission(reply);
}

export function parseWithdraw(reply: GuardedReply): WithdrawReply {
  switch (reply.word) {
    case 'GRANTED':
      return parseGranted(reply);
    case 'WITHDRAWN':
      return {
        kind: 'withdrawn',
        snapshot: parseSnapshot(reply.values[0]),
        ticket: textOrNothing(reply.values[1]),
      };
    case 'KEPT':
      return { kind: 'kept' };
    case 'SUPERSEDED':
      return { kind: 'superseded' };
    case 'FINISHED':
      return parseFinished(reply);
    default:
      throw unexpected(reply);
  }
}

export function parseTouch(reply: GuardedReply): TouchReply {
  if (reply.word !== 'DONE') throw unexpected(reply);
  return {
    snapshot: parseSnapshot(reply.values[0]),
    waiters: (reply.values[1] as string[]).map((word) =>
      word === 'RECHECK' ? 'recheck' : word === 'SUPERSEDED' ? 'superseded' : Number(word),
    ),
  };
}

export function parseRenew(reply: GuardedReply): RenewReply {
  return reply.word === 'GRANTED' ? parseGranted(reply) : parseNotHeld(reply);
}

export function parseRenewMany(reply: GuardedReply): readonly (Renewed | undefined)[] {
  if (reply.word !== 'RENEWED') throw unexpected(reply);
  const { sentAt, values } = reply;
  const renewed: (Renewed | undefined)[] = [];
  for (let at = 0; at < values.length; at += 2) {
    const ttlMs = Number(values[at + 1]) / 1000;
    renewed.push(ttlMs === 0 ? undefined : { sentAt, remainingMs: Number(values[at]) / 1000, ttlMs });
  }
  return renewed;
}

export function parseRelease(reply: GuardedReply): ReleaseReply {
  return reply.word === 'RELEASED' ? { kind: 'released' } : parseNotHeld(reply);
}

/** The request does not hold its lease any more, or another call speaks for the lease. */
function parseNotHeld(reply: GuardedReply): Exclude<RenewReply, Granted> {
  switch (reply.word) {
    case 'ENDED':
      return parseFinished(reply);
    case 'SUPERSEDED':
      return { kind: 'superseded' };
    case 'GONE':
      return { kind: 'gone' };
    default:
      throw unexpected(reply);
  }
}

interface Shown<T> {
  readonly shown: T;
  /** False if the permits in use may count expired leases. */
  readonly isExact: boolean;
}

export function parseInspect(resource: Resource, [view, needsTouch]: readonly Reply[]): Shown<ResourceView> {
  return { shown: parseView(resource, view as Reply[]), isExact: needsTouch === '0' };
}

export function parseWatch(resource: Resource, reply: readonly Reply[]): Shown<WatchedView> {
  const { shown: view, isExact } = parseInspect(resource, reply);
  const nowMs = Number(reply[2]) / 1000;
  const ends = view.holders.map(({ expireTimeMs }) => expireTimeMs - nowMs);
  return { shown: { view, earliestEndMs: ends.length === 0 ? undefined : Math.min(...ends) }, isExact };
}

export function parseSetLimit(resource: Resource, reply: GuardedReply): SetLimitReply {
  switch (reply.word) {
    case 'SET':
      return { kind: 'set', view: parseView(resource, reply.values[0] as Reply[]) };
    case 'MISMATCH':
      return { kind: 'limit-mismatch', limit: Number(reply.values[0]) };
    case 'NOT_KEPT':
      return { kind: 'no-kept-limit' };
    case 'UNKNOWN':
      return { kind: 'unknown-resource' };
    default:
      throw unexpected(reply);
  }
}

export function parseRemove(reply: GuardedReply): RemoveReply {
  switch (reply.word) {
    case 'DELETED':
      return { kind: 'removed' };
    case 'IN_USE':
      return { kind: 'in-use', holderCount: Number(reply.values[0]), waiterCount: Number(reply.values[1]) };
    case 'UNKNOWN':
      return { kind: 'unknown-resource' };
    default:
      throw unexpected(reply);
  }
}

export function parseRevoke(reply: GuardedReply): RevokeReply {
  if (reply.word === 'UNKNOWN') return { kind: 'unknown-resource' };
  if (reply.word !== 'REVOKED') throw unexpected(reply);
  const [count, latestEnd, continuation] = reply.values as [string, string, string[]];
  const [lastToken, pass, endUs, requestId] = continuation;
  return {
    kind: 'revoked',
    count: Number(count),
    latestEndMs: latestEnd === '0' ? undefined : Number(latestEnd) / 1000,
    next: requestId === undefined ? undefined : ({ lastToken, pass, endUs, requestId } as RevokeCursor),
  };
}

/** The reply of lease-list. `unused`: names that may leave the index. */
export function parseList<Item>(
  [shown, last, examinedCount, unused]: readonly Reply[],
  parseItem: (item: readonly Reply[]) => Item,
): { items: Item[]; last: string; examinedCount: number; unused: string[] } {
  return {
    items: (shown as Reply[][]).map(parseItem),
    last: last as string,
    examinedCount: Number(examinedCount),
    unused: unused as string[],
  };
}

/** A holder or waiter without a readable record was edited manually in Redis, and is left out. */
function parseView(resource: Resource, view: readonly Reply[]): ResourceView {
  const [limit, token, used, holderCount, waiterCount, holders, waiters, kept] = view;
  return {
    name: resource.name,
    limit: parseLimit(limit as string),
    keptLimit: parseLimit(kept as string),
    usedCount: Number(used),
    lastFencingToken: BigInt(token as string),
    holderCount: Number(holderCount),
    waiterCount: Number(waiterCount),
    holders: (holders as string[][]).map(parseHolder).filter((holder) => holder !== undefined),
    waiters: (waiters as string[][]).map(parseWaiter).filter((waiter) => waiter !== undefined),
  };
}

function parseAdmission(
  reply: GuardedReply,
): Granted | Waiting | Finished | { kind: 'never-fits'; limit: number } | { kind: 'unknown-resource' } {
  const { values, sentAt } = reply;
  switch (reply.word) {
    case 'GRANTED':
      return parseGranted(reply);
    case 'WAITING':
      return {
        kind: 'waiting',
        sentAt,
        ticket: values[0] as string,
        position: Number(values[1]),
        snapshot: parseSnapshot(values[2]),
      };
    case 'FINISHED':
      return parseFinished(reply);
    case 'NEVER_FITS':
      return { kind: 'never-fits', limit: Number(values[0]) };
    case 'UNKNOWN':
      return { kind: 'unknown-resource' };
    default:
      throw unexpected(reply);
  }
}

function parseGranted({ values, sentAt }: GuardedReply): Granted {
  return {
    kind: 'granted',
    sentAt,
    fencingToken: BigInt(values[0] as string),
    remainingMs: Number(values[1]) / 1000,
    ttlMs: Number(values[2]) / 1000,
    secret: values[3] as string,
    permits: Number(values[4]),
    clientRequestId: textOrNothing(values[5]),
  };
}

/** The grant of a waiter by a script that another call has sent. The lease began with that script. */
export function parseDirectGrant(
  [requestId, attach, token, ttl, secret, permits]: readonly string[],
  sentAt: number,
): { call: CallRef; grant: Granted } {
  const ttlMs = Number(ttl) / 1000;
  return {
    call: { requestId: requestId as string, attach: attach as string },
    grant: {
      kind: 'granted',
      sentAt,
      fencingToken: BigInt(token as string),
      remainingMs: ttlMs,
      ttlMs,
      secret: secret as string,
      permits: Number(permits),
    },
  };
}

function parseFinished({ values }: GuardedReply): Finished {
  const token = textOrNothing(values[1]);
  return {
    kind: 'finished',
    cause: values[0] as LossCause | 'released',
    ...(token !== undefined && { returnable: BigInt(token) }),
  };
}

function textOrNothing(value: Reply | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : (value as string);
}

type SnapshotReply = [string, string, string[], string, string, string];

function parseSnapshot(reply: Reply | undefined): QueueSnapshot {
  const [earliest, waiterCount, holder, holderEnd, limit, used] = reply as SnapshotReply;
  return {
    earliestEndMs: Number(earliest) < 0 ? undefined : Number(earliest) / 1000,
    waiterCount: Number(waiterCount),
    holder: parseHolder(holder),
    holderEndMs: holder.length === 0 ? undefined : Number(holderEnd) / 1000,
    limit: parseLimit(limit),
    usedCount: Number(used),
  };
}

function parseHolder(fields: readonly string[]): HolderView | undefined {
  const [holderId, metadata, token, permits, mode, granted, end, revoked, identity] = fields;
  if (revoked === undefined || ![token, permits, granted, end].every(isInteger)) return undefined;
  return {
    holderId: holderId ?? '',
    metadata: parseMetadata(metadata),
    fencingToken: BigInt(token as string),
    permitCount: Number(permits),
    mode: parseMode(mode),
    acquireTimeMs: Number(granted) / 1000,
    expireTimeMs: Number(end) / 1000,
    revoked: revoked === '1',
    identity: identity ?? '',
  };
}

function parseWaiter(fields: readonly string[], index: number): WaiterView | undefined {
  const [holderId, metadata, permits, mode, queued, identity] = fields;
  if (![permits, queued].every(isInteger)) return undefined;
  return {
    holderId: holderId ?? '',
    metadata: parseMetadata(metadata),
    permitCount: Number(permits),
    mode: parseMode(mode),
    position: index + 1,
    enqueueTimeMs: Number(queued) / 1000,
    identity: identity ?? '',
  };
}

function isInteger(text: string | undefined): boolean {
  return text !== undefined && /^-?\d+$/.test(text);
}

function parseLimit(text: string): number | undefined {
  return text === '' ? undefined : Number(text);
}

function parseMode(letter: string | undefined): Mode {
  return letter === 's' ? 'shared' : 'exclusive';
}

function parseMetadata(text: string | undefined): Record<string, string> {
  return text ? (JSON.parse(text) as Record<string, string>) : {};
}

function unexpected({ word }: GuardedReply): Error {
  return new Error(`the script answered ${word}, which this server does not know`);
}
