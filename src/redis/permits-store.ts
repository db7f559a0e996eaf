import {
  permitsAcquire,
  permitsClaim,
  permitsInspect,
  permitsRelease,
  permitsRenew,
  permitsTouch,
  permitsWithdraw,
} from '../../generated/redis/scripts';
import type { HolderView, LossCause, Mode, Resource, ResourceView } from '../engine/lease';
import type {
  AcquireCommand,
  AcquireReply,
  ClaimCommand,
  ClaimReply,
  Finished,
  Granted,
  Outlook,
  PermitsStore,
  PermitsWanted,
  ReleaseCommand,
  ReleaseReply,
  RenewCommand,
  RenewReply,
  Speaker,
  StoreListener,
  TouchReply,
  Waiting,
  WithdrawCommand,
  WithdrawReply,
} from '../engine/store';
import { script, type RedisConnection, type Script } from './connection';
import { permitsKeys } from './keys';
import type { Reply } from './script-command';

const scripts = {
  acquire: script(permitsAcquire),
  claim: script(permitsClaim),
  withdraw: script(permitsWithdraw),
  touch: script(permitsTouch),
  renew: script(permitsRenew),
  release: script(permitsRelease),
  inspect: script(permitsInspect),
};

/** How many holders and waiters GetLock shows. */
const SHOWN = 16;

export interface PermitsStoreOptions {
  readonly connection: RedisConnection;
  readonly prefix: string;
  readonly serverId: string;
  readonly retentionMs: number;
}

/** A script's answer: its word, what came after, and when it was sent. */
interface Answer {
  readonly word: string;
  readonly rest: readonly Reply[];
  readonly sentAt: number;
}

/** The permits engine's store: each method is one script, its arguments in the order of the script's header. */
export class RedisPermitsStore implements PermitsStore {
  private listener: StoreListener | undefined;

  constructor(private readonly options: PermitsStoreOptions) {}

  listen(listener: StoreListener): void {
    this.listener = listener;
  }

  /** A hint that came from another server. */
  hint(resource: Resource, requestId: string): void {
    this.listener?.look(resource, requestId);
  }

  acquire(resource: Resource, command: AcquireCommand): Promise<AcquireReply> {
    return this.run(scripts.acquire, resource, parseAcquire, [
      ...wanted(command),
      flag(command.wait),
      flag(command.takeOver),
      command.initialLimit ?? '',
      command.maxWaiters,
      this.options.retentionMs,
    ]);
  }

  claim(resource: Resource, command: ClaimCommand): Promise<ClaimReply> {
    return this.run(scripts.claim, resource, parseClaim, [
      ...wanted(command),
      command.initialLimit ?? '',
      command.ticket,
      this.options.retentionMs,
    ]);
  }

  withdraw(resource: Resource, command: WithdrawCommand): Promise<WithdrawReply> {
    return this.run(scripts.withdraw, resource, parseWithdraw, [
      command.requestId,
      command.attach,
      flag(command.giveBack),
      this.options.retentionMs,
    ]);
  }

  touch(resource: Resource, waiters: readonly Speaker[]): Promise<TouchReply> {
    const pairs = waiters.flatMap((waiter) => [waiter.requestId, waiter.attach]);
    return this.run(scripts.touch, resource, parseTouch, [this.options.retentionMs, ...pairs]);
  }

  renew(resource: Resource, command: RenewCommand): Promise<RenewReply> {
    return this.run(scripts.renew, resource, parseRenew, [
      command.requestId,
      command.secret,
      command.ttlMs === undefined ? 0 : micros(command.ttlMs),
      command.stream?.attach ?? '',
      flag(command.stream?.takeOver ?? false),
      this.options.retentionMs,
    ]);
  }

  release(resource: Resource, command: ReleaseCommand): Promise<ReleaseReply> {
    return this.run(scripts.release, resource, parseRelease, [
      command.requestId,
      command.secret,
      command.afterLoss?.attach ?? '',
      this.options.retentionMs,
    ]);
  }

  inspect(resource: Resource): Promise<ResourceView> {
    const { connection, prefix } = this.options;
    const keys = permitsKeys(prefix, resource);
    return connection.run(scripts.inspect, keys, [SHOWN], (reply) => parseView(resource, reply));
  }

  private run<T>(
    what: Script,
    resource: Resource,
    parse: (answer: Answer) => T,
    args: (string | number)[],
  ): Promise<T> {
    const { connection, prefix, serverId } = this.options;
    args.unshift(serverId);
    return connection.run(what, permitsKeys(prefix, resource), args, (reply, sentAt) => {
      const [word, more, offers, ...rest] = reply;
      if (more === '1') this.listener?.more(resource);
      for (const requestId of offers as string[]) this.listener?.look(resource, requestId);
      return parse({ word: word as string, rest, sentAt });
    });
  }
}

function parseAcquire(answer: Answer): AcquireReply {
  switch (answer.word) {
    case 'REFUSED':
      return { kind: 'refused', outlook: parseOutlook(answer.rest[0]) };
    case 'MISMATCH':
      return { kind: 'mismatch', field: answer.rest[0] as 'mode' | 'permit_count' | 'holder_id' };
    case 'QUEUE_FULL':
      return { kind: 'queue-full', waiterCount: Number(answer.rest[0]) };
    default:
      return parseAdmission(answer);
  }
}

function parseClaim(answer: Answer): ClaimReply {
  return answer.word === 'SUPERSEDED' ? { kind: 'superseded' } : parseAdmission(answer);
}

function parseWithdraw(answer: Answer): WithdrawReply {
  switch (answer.word) {
    case 'GRANTED':
      return parseGranted(answer);
    case 'WITHDRAWN':
      return { kind: 'withdrawn', outlook: parseOutlook(answer.rest[0]) };
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

function parseTouch(answer: Answer): TouchReply {
  if (answer.word !== 'DONE') throw unexpected(answer);
  return {
    outlook: parseOutlook(answer.rest[0]),
    waiters: (answer.rest[1] as string[]).map((word) =>
      word === 'LOOK' ? 'look' : word === 'SUPERSEDED' ? 'superseded' : Number(word),
    ),
  };
}

function parseRenew(answer: Answer): RenewReply {
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

function parseRelease(answer: Answer): ReleaseReply {
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

function parseView(resource: Resource, reply: readonly Reply[]): ResourceView {
  const [limit, token, used, holderCount, waiterCount, holders, waiters] = reply;
  return {
    name: resource.name,
    limit: limit === '' ? undefined : Number(limit),
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

function wanted(command: PermitsWanted): (string | number)[] {
  let metadata = '';
  for (const _ in command.metadata) {
    metadata = JSON.stringify(command.metadata);
    break;
  }
  return [
    command.requestId,
    command.attach,
    command.secret,
    command.permits,
    command.mode === 'shared' ? 's' : 'x',
    command.holderId,
    metadata,
    micros(command.ttlMs),
  ];
}

function flag(value: boolean): string {
  return value ? '1' : '0';
}

/** Redis's times are whole microseconds. */
function micros(ms: number): number {
  return Math.round(ms * 1000);
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
        outlook: parseOutlook(rest[2]),
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

function parseOutlook(reply: Reply | undefined): Outlook {
  const [earliest, waiterCount, holder, holderEnd] = reply as [string, string, string[], string];
  return {
    earliestEndMs: Number(earliest) < 0 ? undefined : Number(earliest) / 1000,
    waiterCount: Number(waiterCount),
    holder: parseHolder(holder),
    holderEndMs: holder.length === 0 ? undefined : Number(holderEnd) / 1000,
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

function parseMode(letter: string | undefined): Mode {
  return letter === 's' ? 'shared' : 'exclusive';
}

function parseMetadata(text: string | undefined): Record<string, string> {
  return text ? (JSON.parse(text) as Record<string, string>) : {};
}

function unexpected(answer: Answer): Error {
  return new Error(`script answered ${answer.word}`);
}
