import type { HolderView, LossCause, Mode, Resource, ResourceView } from '../../engine/leases/lease';
import type {
  AcquireReply,
  ClaimReply,
  Finished,
  Granted,
  QueueSnapshot,
  ReleaseReply,
  RemoveReply,
  RenewReply,
  SetLimitReply,
  TouchReply,
  Waiting,
  WithdrawReply,
} from '../../engine/leases/permits-store';
import type { Reply } from '../connection/script-command';

/** What each script answers (`Reply` in its header), in the engine's words. */

/** A script's answer: its word, what came after, and when it was sent. */
export interface Answer {
  readonly word: string;
  readonly rest: readonly Reply[];
  readonly sentAt: number;
}

export function parseAcquire(answer: Answer): AcquireReply {
  switch (answer.word) {
    case 'REFUSED':
      return { kind: 'refused', snapshot: parseSnapshot(answer.rest[0]) };
    case 'MISMATCH':
      return { kind: 'mismatch', field: answer.rest[0] as 'mode' | 'permit_count' | 'holder_id' };
    case 'QUEUE_FULL':
      return { kind: 'queue-full', waiterCount: Number(answer.rest[0]) };
    default:
      return parseAdmission(answer);
  }
}

export function parseClaim(answer: Answer): ClaimReply {
  return answer.word === 'SUPERSEDED' ? { kind: 'superseded' } : parseAdmission(answer);
}

export function parseWithdraw(answer: Answer): WithdrawReply {
  switch (answer.word) {
    case 'GRANTED':
      return parseGranted(answer);
    case 'WITHDRAWN':
      return { kind: 'withdrawn', snapshot: parseSnapshot(answer.rest[0]) };
    case 'KEPT':
      return { kind: 'kept' };
    case 'SUPERSEDED':
      return { kind: 'superseded' };
    case 'FINISHED':
      return parseFinished(answer);
    default:
      throw unexpected(answer);
  }
}

export function parseTouch(answer: Answer): TouchReply {
  if (answer.word !== 'DONE') throw unexpected(answer);
  return {
    snapshot: parseSnapshot(answer.rest[0]),
    waiters: (answer.rest[1] as string[]).map((word) =>
      word === 'LOOK' ? 'recheck' : word === 'SUPERSEDED' ? 'superseded' : Number(word),
    ),
  };
}

export function parseRenew(answer: Answer): RenewReply {
  switch (answer.word) {
    case 'GRANTED':
      return parseGranted(answer);
    case 'ENDED':
      return parseFinished(answer);
    case 'SUPERSEDED':
      return { kind: 'superseded' };
    case 'GONE':
      return { kind: 'gone' };
    default:
      throw unexpected(answer);
  }
}

export function parseRelease(answer: Answer): ReleaseReply {
  switch (answer.word) {
    case 'RELEASED':
      return { kind: 'released' };
    case 'ENDED':
      return parseFinished(answer);
    case 'SUPERSEDED':
      return { kind: 'superseded' };
    case 'GONE':
      return { kind: 'gone' };
    default:
      throw unexpected(answer);
  }
}

export function parseSetLimit(resource: Resource, answer: Answer): SetLimitReply {
  switch (answer.word) {
    case 'SET':
      return { kind: 'set', view: parseView(resource, answer.rest[0] as Reply[]) };
    case 'MISMATCH':
      return { kind: 'limit-mismatch', limit: Number(answer.rest[0]) };
    case 'UNKNOWN':
      return { kind: 'unknown-resource' };
    default:
      throw unexpected(answer);
  }
}

export function parseRemove({ word, rest, sentAt }: Answer): RemoveReply {
  switch (word) {
    case 'DELETED':
      return { kind: 'removed' };
    case 'IN_USE':
      return { kind: 'in-use', holderCount: Number(rest[0]), waiterCount: Number(rest[1]) };
    case 'UNKNOWN':
      return { kind: 'unknown-resource' };
    default:
      throw unexpected({ word, rest, sentAt });
  }
}

export function parseView(resource: Resource, reply: readonly Reply[]): ResourceView {
  const [limit, token, used, holderCount, waiterCount, holders, waiters] = reply;
  return {
    name: resource.name,
    limit: parseLimit(limit as string),
    usedCount: Number(used),
    lastFencingToken: BigInt(token as string),
    holderCount: Number(holderCount),
    waiterCount: Number(waiterCount),
    holders: (holders as string[][]).map(parseHolder).filter((holder) => holder !== undefined),
    waiters: (waiters as string[][])
      .map((fields, index) => {
        const [holderId, metadata, permits, mode, queued] = fields;
        return {
          holderId: holderId ?? '',
          metadata: parseMetadata(metadata),
          permitCount: Number(permits),
          mode: parseMode(mode),
          position: index + 1,
          enqueueTimeMs: Number(queued) / 1000,
        };
      })
      .filter((_, index) => ((waiters as string[][])[index]?.length ?? 0) > 0),
  };
}

function parseAdmission(answer: Answer):
  | Granted
  | Waiting
  | Finished
  | { kind: 'never-fits'; limit: number }
  | {
      kind: 'unknown-resource';
    } {
  const { rest, sentAt } = answer;
  switch (answer.word) {
    case 'GRANTED':
      return parseGranted(answer);
    case 'WAITING':
      return {
        kind: 'waiting',
        sentAt,
        ticket: rest[0] as string,
        position: Number(rest[1]),
        snapshot: parseSnapshot(rest[2]),
      };
    case 'FINISHED':
      return parseFinished(answer);
    case 'NEVER_FITS':
      return { kind: 'never-fits', limit: Number(rest[0]) };
    case 'UNKNOWN':
      return { kind: 'unknown-resource' };
    default:
      throw unexpected(answer);
  }
}

function parseGranted({ rest, sentAt }: Answer): Granted {
  return {
    kind: 'granted',
    sentAt,
    fencingToken: BigInt(rest[0] as string),
    remainingMs: Number(rest[1]) / 1000,
    ttlMs: Number(rest[2]) / 1000,
    secret: rest[3] as string,
    permits: Number(rest[4]),
  };
}

function parseFinished({ rest }: Answer): Finished {
  return { kind: 'finished', cause: rest[0] as LossCause | 'released' };
}

type OutlookReply = [string, string, string[], string, string, string];

function parseSnapshot(reply: Reply | undefined): QueueSnapshot {
  const [earliest, waiterCount, holder, holderEnd, limit, used] = reply as OutlookReply;
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
  if (fields.length === 0) return undefined;
  const [holderId, metadata, token, permits, mode, granted, end, revoked] = fields;
  return {
    holderId: holderId ?? '',
    metadata: parseMetadata(metadata),
    fencingToken: BigInt(token ?? 0),
    permitCount: Number(permits),
    mode: parseMode(mode),
    acquireTimeMs: Number(granted) / 1000,
    expireTimeMs: Number(end) / 1000,
    revoked: revoked === '1',
  };
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

function unexpected(answer: Answer): Error {
  return new Error(`script answered ${answer.word}`);
}
