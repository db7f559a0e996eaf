import { randomUUID } from 'node:crypto';
import {
  permitsAcquire,
  permitsClaim,
  permitsDelete,
  permitsInspect,
  permitsLimit,
  permitsRelease,
  permitsRenew,
  permitsTouch,
  permitsWithdraw,
} from '../../../generated/redis/scripts';
import { StoreFailure } from '../../engine/errors';
import type { Resource, ResourceView } from '../../engine/leases/lease';
import type {
  AcquireCommand,
  AcquireReply,
  ClaimCommand,
  ClaimReply,
  PermitsStore,
  PermitsWanted,
  ReleaseCommand,
  ReleaseReply,
  RemoveCommand,
  RemoveReply,
  RenewCommand,
  RenewReply,
  SetLimitCommand,
  SetLimitReply,
  CallRef,
  StoreListener,
  TouchReply,
  WithdrawCommand,
  WithdrawReply,
} from '../../engine/leases/permits-store';
import type { Commands } from '../connection/connection';
import { script, type GuardChoice, type Script } from '../connection/operation';
import { permitsKeys } from '../keys';
import {
  parseAcquire,
  parseClaim,
  parseRelease,
  parseRemove,
  parseRenew,
  parseSetLimit,
  parseTouch,
  parseView,
  parseWithdraw,
  type Answer,
} from './permits-replies';
import type { Reply } from '../connection/script-command';

const scripts = {
  acquire: script(permitsAcquire),
  claim: script(permitsClaim),
  withdraw: script(permitsWithdraw),
  touch: script(permitsTouch),
  renew: script(permitsRenew),
  release: script(permitsRelease),
  inspect: script(permitsInspect),
  limit: script(permitsLimit),
  delete: script(permitsDelete),
};

/** All of them, to be loaded ahead of use. */
export const permitsScripts: readonly Script[] = Object.values(scripts);

/** How many holders and waiters are shown of a resource. */
const SHOWN = 16;

export interface PermitsStoreOptions {
  readonly connection: Commands;
  /** Of whatever may grant. */
  readonly guard: GuardChoice;
  readonly prefix: string;
  readonly serverId: string;
  readonly retentionMs: number;
  /** How long one command may take, however many steps it is carried out in (ms). */
  readonly commandTimeoutMs: number;
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
    this.listener?.recheck(resource, requestId);
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
      command.fencingToken === undefined ? '' : String(command.fencingToken),
      this.options.retentionMs,
    ]);
  }

  touch(resource: Resource, waiters: readonly CallRef[]): Promise<TouchReply> {
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
    return connection.run(scripts.inspect, keys, [SHOWN], (reply) => {
      const unpurged = reply[7] === '1';
      // A look changes nothing; what it could not count past is ended first, a batch at a time.
      if (!unpurged) return parseView(resource, reply);
      return this.touch(resource, []).then(
        () => this.inspect(resource),
        (error: unknown) => {
          if (error instanceof StoreFailure && error.kind === 'quarantined')
            return parseView(resource, reply);
          throw error;
        },
      );
    });
  }

  setLimit(resource: Resource, { limit, expectedLimit }: SetLimitCommand): Promise<SetLimitReply> {
    const parse = (answer: Answer) => parseSetLimit(resource, answer);
    const args = [limit, expectedLimit ?? '', SHOWN, this.options.retentionMs];
    return this.run(scripts.limit, resource, parse, args);
  }

  remove(resource: Resource, { force }: RemoveCommand): Promise<RemoveReply> {
    const args = [flag(force), randomUUID(), this.options.retentionMs];
    return this.run(scripts.delete, resource, parseRemove, args);
  }

  private run<T>(
    what: Script,
    resource: Resource,
    parse: (answer: Answer) => T,
    args: (string | number)[],
  ): Promise<T> {
    const { connection, guard, prefix, serverId, commandTimeoutMs } = this.options;
    const keys = permitsKeys(prefix, resource);
    args.unshift(serverId);
    let firstSentAt: number | undefined;
    const read = (reply: Reply[], sentAt: number): T | Promise<T> => {
      const [word, more, offers, ...rest] = reply;
      if (more === '1') this.listener?.workLeft(resource);
      for (const requestId of offers as string[]) this.listener?.recheck(resource, requestId);
      if (word !== 'AGAIN') return parse({ word: word as string, rest, sentAt });
      // A step that comes before all else goes on, a batch at a time; each try brings its end nearer.
      firstSentAt ??= sentAt;
      if (sentAt - firstSentAt > commandTimeoutMs) throw new StoreFailure('unknown', 'unavailable');
      return connection.run(what, keys, args, read, guard);
    };
    return connection.run(what, keys, args, read, guard);
  }
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
