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
import type { AnsweringNode } from '../connection/answering-node';
import type { Commands } from '../connection/command-runner';
import { confirmed } from '../connection/confirmed';
import type { GuardedReply } from '../connection/guarded-reply';
import { HIGH, NORMAL, script, type GuardChoice, type Script, type Turn } from '../connection/operation';
import type { Reply } from '../connection/script-command';
import { LEASE_LAYOUT, permitsKeys } from '../keys';
import { readHint } from './hints';
import {
  parseAcquire,
  parseClaim,
  parseDirectGrant,
  parseInspect,
  parseRelease,
  parseRemove,
  parseRenew,
  parseSetLimit,
  parseTouch,
  parseWithdraw,
} from './permits-replies';

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

/** Each new connection loads these scripts into Redis. */
export const permitsScripts: readonly Script[] = Object.values(scripts);

/** The most holders, and the most waiters, that a view of a resource has. */
const SHOWN_COUNT = 16;

export interface PermitsStoreOptions {
  readonly commands: Commands;
  /** The guard of all scripts except `inspect`. */
  readonly guard: GuardChoice;
  readonly prefix: string;
  readonly serverId: string;
  readonly retentionMs: number;
  /** How long one command may take, with all its steps (ms). */
  readonly commandTimeoutMs: number;
}

/** The store of locks and semaphores. Each method runs one script, with arguments in the order of the script's header. */
export class RedisPermitsStore implements PermitsStore {
  private listener: StoreListener | undefined;

  constructor(private readonly options: PermitsStoreOptions) {}

  listen(listener: StoreListener): void {
    this.listener = listener;
  }

  /** Tells the listener of a hint from another server. A message that is no hint is ignored. */
  hint(message: string): void {
    const hint = readHint(this.options.prefix, message);
    if (hint) this.listener?.recheck(hint.resource, hint.requestId);
  }

  acquire(resource: Resource, command: AcquireCommand): Promise<AcquireReply> {
    const { caller, sendBefore } = command;
    return this.run({ priority: 'normal', caller, sendBefore }, scripts.acquire, resource, parseAcquire, [
      ...wanted(command),
      flag(command.wait),
      flag(command.takeOver),
      command.initialLimit ?? '',
      command.maxWaiters,
      this.options.retentionMs,
    ]);
  }

  claim(resource: Resource, command: ClaimCommand): Promise<ClaimReply> {
    return this.run(urgent(command), scripts.claim, resource, parseClaim, [
      ...wanted(command),
      command.initialLimit ?? '',
      command.ticket,
      this.options.retentionMs,
    ]);
  }

  withdraw(resource: Resource, command: WithdrawCommand): Promise<WithdrawReply> {
    return this.run(urgent(command), scripts.withdraw, resource, parseWithdraw, [
      command.requestId,
      command.attach,
      command.onlyUnheard ? GIVE_BACK_UNHEARD : flag(command.giveBack),
      command.fencingToken === undefined ? '' : String(command.fencingToken),
      this.options.retentionMs,
    ]);
  }

  touch(resource: Resource, waiters: readonly CallRef[]): Promise<TouchReply> {
    const pairs = waiters.flatMap((waiter) => [waiter.requestId, waiter.attach]);
    return this.run(HIGH, scripts.touch, resource, parseTouch, [this.options.retentionMs, ...pairs]);
  }

  renew(resource: Resource, command: RenewCommand): Promise<RenewReply> {
    return this.run(urgent(command), scripts.renew, resource, parseRenew, [
      command.requestId,
      command.secret,
      command.ttlMs === undefined ? 0 : micros(command.ttlMs),
      command.stream?.attach ?? '',
      flag(command.stream?.takeOver ?? false),
      this.options.retentionMs,
    ]);
  }

  release(resource: Resource, command: ReleaseCommand): Promise<ReleaseReply> {
    return this.run(urgent(command), scripts.release, resource, parseRelease, [
      command.requestId,
      command.secret,
      command.afterLoss?.attach ?? '',
      this.options.retentionMs,
    ]);
  }

  inspect(resource: Resource, caller?: object): Promise<ResourceView> {
    const { commands, prefix } = this.options;
    const keys = permitsKeys(prefix, resource);
    const read = (reply: Reply[]) => {
      // The store has leases of another layout.
      if (reply.length === 0) throw new StoreFailure('no', 'unavailable');
      const { view, isExact } = parseInspect(resource, reply);
      if (isExact) return view;
      // `touch` ends a batch of expired leases, then `inspect` counts again.
      return this.touch(resource, []).then(
        () => this.inspect(resource, caller),
        (error: unknown) => {
          if (error instanceof StoreFailure && error.kind === 'quarantined') return view;
          throw error;
        },
      );
    };
    return commands.run(scripts.inspect, keys, [SHOWN_COUNT, LEASE_LAYOUT], read, {
      priority: 'low',
      caller,
    });
  }

  setLimit(resource: Resource, { limit, expectedLimit }: SetLimitCommand): Promise<SetLimitReply> {
    const parse = (reply: GuardedReply) => parseSetLimit(resource, reply);
    const args = [limit, expectedLimit ?? '', SHOWN_COUNT, this.options.retentionMs];
    return this.run(NORMAL, scripts.limit, resource, parse, args, ({ kind }) => kind === 'set');
  }

  remove(resource: Resource, { force }: RemoveCommand): Promise<RemoveReply> {
    const args = [flag(force), randomUUID(), this.options.retentionMs];
    // An unknown semaphore may have been deleted by an earlier try, which the replicas have not confirmed.
    return this.run(NORMAL, scripts.delete, resource, parseRemove, args, ({ kind }) => kind !== 'in-use');
  }

  private tell(resource: Resource, news: Reply, sentAt: number): void {
    if (typeof news === 'string') return this.listener?.recheck(resource, news);
    const { call, grant } = parseDirectGrant(news as string[], sentAt);
    this.listener?.granted(resource, call, grant);
  }

  private run<T>(
    turn: Turn,
    script: Script,
    resource: Resource,
    parse: (reply: GuardedReply) => T,
    args: (string | number)[],
    /** Whether replicas must confirm the state that the reply reports. Default: no. */
    mustConfirm?: (reply: T) => boolean,
  ): Promise<T> {
    const { commands, guard, prefix, serverId, commandTimeoutMs } = this.options;
    const keys = permitsKeys(prefix, resource);
    args.unshift(serverId);
    let firstSentAt: number | undefined;
    const readAnswer = mustConfirm ? confirmed(keys[0], parse, mustConfirm) : parse;
    const read = (reply: GuardedReply, sentAt: number, by: AnsweringNode): T | Promise<T> => {
      if (reply.followUp === 'touch') this.listener?.workLeft(resource);
      for (const news of reply.news) this.tell(resource, news, sentAt);
      if (reply.isRepeated) this.listener?.mayHaveMissedNews(resource);
      if (reply.word !== 'AGAIN') return readAnswer(reply, sentAt, by);
      // The script has done one batch of earlier work, and must run again for its own step.
      firstSentAt ??= reply.sentAt;
      if (reply.sentAt - firstSentAt > commandTimeoutMs) throw new StoreFailure('unknown', 'unavailable');
      return commands.runGuarded(script, keys, args, read, guard, turn);
    };
    const running = commands.runGuarded(script, keys, args, read, guard, turn);
    running.catch((error: unknown) => {
      // The reply may come after the time of the command, or never.
      if (error instanceof StoreFailure && error.carriedOut === 'unknown')
        this.listener?.mayHaveMissedNews(resource);
    });
    return running;
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

/** Work on leases that exist. The store never refuses this work for lack of time. */
function urgent({ caller }: { readonly caller?: object | undefined }): Turn {
  return { priority: 'high', caller };
}

/** The value of the flag `give back` in permits-withdraw.lua for `onlyUnheard`. */
const GIVE_BACK_UNHEARD = '2';

function flag(value: boolean): string {
  return value ? '1' : '0';
}

/** Scripts measure time in whole microseconds. */
function micros(ms: number): number {
  return Math.round(ms * 1000);
}
