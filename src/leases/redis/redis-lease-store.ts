import { randomUUID } from 'node:crypto';
import {
  leaseAcquire,
  leaseClaim,
  leaseDelete,
  leaseInspect,
  leaseLibrary,
  leaseLimit,
  leaseRelease,
  leaseRenew,
  leaseRenewMany,
  leaseRevoke,
  leaseTouch,
  leaseWatch,
  leaseWithdraw,
} from '../../../generated/redis/scripts';
import { StoreFailure } from '../../base/errors';
import { BUCKET_COUNT, bucketOf, LEASE_LAYOUT } from '../../redis/buckets';
import { leaseKeys, readHint, RESOURCE_CHANGED } from './lease-keys';
import {
  type Commands,
  type GuardChoice,
  type GuardedReply,
  HIGH,
  LOW,
  NORMAL,
  type ServerArguments,
  type Turn,
} from '../../redis/commands';
import { operation, type Reply, script, type Script } from '../../redis/script';
import { isReplyError } from '../../redis/failure-class';
import { type AnsweringNode, confirmed } from '../../redis/node/confirmations';
import type { Resource, ResourceView } from '../lease';
import type {
  AcquireOptions,
  AcquireReply,
  CallRef,
  ClaimReply,
  LeaseStore,
  LeaseToRenew,
  LeaseWanted,
  ListedPart,
  ListStep,
  Patience,
  ReleaseCommand,
  ReleaseReply,
  RemoveCommand,
  RemoveReply,
  RenewCommand,
  Renewed,
  RenewReply,
  RevokeCommand,
  RevokeReply,
  RevokeTarget,
  SetLimitCommand,
  SetLimitReply,
  StoreListener,
  TouchReply,
  WaiterCount,
  WatchedView,
  WithdrawCommand,
  WithdrawReply,
} from '../lease-store';
import {
  parseAcquire,
  parseClaim,
  parseDirectGrant,
  parseInspect,
  parseRelease,
  parseRemove,
  parseRenew,
  parseRenewMany,
  parseRevoke,
  parseSetLimit,
  parseTouch,
  parseWatch,
  parseWithdraw,
} from './lease-replies';
import { ListedNames, listScripts } from './listed-names';

/** The arguments of lease-revoke.lua. */
function revokeArguments({ target, force, after }: RevokeCommand): (string | number)[] {
  const cursor = [after?.pass ?? 'first', after?.endUs ?? '', after?.requestId ?? ''];
  return [TARGETS[target.kind], force ? '1' : '0', ...targetArguments(target, after?.lastToken), ...cursor];
}

const TARGETS: Readonly<Record<RevokeTarget['kind'], string>> = {
  token: 'token',
  lease: 'lease',
  'all-holders': 'all',
  waiter: 'waiter',
};

function targetArguments(target: RevokeTarget, lastToken = ''): (string | number)[] {
  switch (target.kind) {
    case 'token':
      return [String(target.fencingToken), '', '', ''];
    case 'lease':
      return [String(target.fencingToken), target.requestId, '', ''];
    case 'all-holders':
      return [lastToken, '', '', ''];
    case 'waiter':
      return ['', '', target.position, String(target.enqueueTimeUs)];
  }
}

/**
 * True if a revocation that ran twice has the same reply both times. Otherwise the second run may miss what the first run has
 * ended: leases with force, offers and waiters.
 */
function countsAgain({ target, force }: RevokeCommand, reply: RevokeReply): boolean {
  if (force) return false;
  return target.kind === 'lease' || (target.kind === 'token' && reply.kind === 'revoked' && reply.count > 0);
}

const scripts = {
  acquire: operation(leaseLibrary, 'acquire', leaseAcquire),
  claim: operation(leaseLibrary, 'claim', leaseClaim),
  withdraw: operation(leaseLibrary, 'withdraw', leaseWithdraw),
  touch: operation(leaseLibrary, 'touch', leaseTouch),
  renew: operation(leaseLibrary, 'renew', leaseRenew),
  renewMany: script(leaseRenewMany),
  release: operation(leaseLibrary, 'release', leaseRelease),
  inspect: operation(leaseLibrary, 'inspect', leaseInspect),
  watch: operation(leaseLibrary, 'watch', leaseWatch),
  limit: operation(leaseLibrary, 'limit', leaseLimit),
  delete: operation(leaseLibrary, 'delete', leaseDelete),
  revoke: operation(leaseLibrary, 'revoke', leaseRevoke),
};

/** Each new connection loads these scripts into Redis. */
export const leaseScripts: readonly Script[] = [...Object.values(scripts), ...listScripts];

/** The most holders, and the most waiters, that a view of a resource has. */
const SHOWN_COUNT = 16;

export interface LeaseStoreOptions {
  readonly commands: Commands;
  /** The guard of all scripts except `inspect` and `watch`. */
  readonly guard: GuardChoice;
  readonly prefix: string;
  readonly serverId: string;
  readonly retentionMs: number;
  /** How long one command may take, with all its steps (ms). A renewal or a withdrawal may also wait for its turn. */
  readonly commandTimeoutMs: number;
}

/** The store of locks and semaphores. Each method runs one script, with arguments in the order of the script's header. */
export class RedisLeaseStore implements LeaseStore {
  readonly bucketCount = BUCKET_COUNT;
  readonly bucketOf = bucketOf;
  private listener: StoreListener | undefined;
  private readonly names: ListedNames;
  /** The first arguments of every operation. */
  private readonly head: ServerArguments;

  constructor(private readonly options: LeaseStoreOptions) {
    const { commands, prefix } = options;
    this.head = [options.serverId, options.retentionMs];
    const { head } = this;
    const inspect = (resource: Resource, caller?: object) => this.inspect(resource, caller);
    this.names = new ListedNames({ commands, prefix, head, shownCount: SHOWN_COUNT, inspect });
  }

  listen(listener: StoreListener): void {
    this.listener = listener;
  }

  /** Tells the listener of a hint from another server. A message that is no hint is ignored. */
  hint(message: string): void {
    const hint = readHint(this.options.prefix, message);
    if (hint) this.recheck(hint.resource, hint.requestId);
  }

  acquire(resource: Resource, wanted: LeaseWanted, how: AcquireOptions): Promise<AcquireReply> {
    const { caller, sendBefore, initialLimit } = wanted;
    return this.run({ priority: 'normal', caller, sendBefore }, scripts.acquire, resource, parseAcquire, [
      ...fieldsOf(wanted),
      flag(how.wait),
      flag(how.takeOver),
      initialLimit ?? '',
      how.maxWaiters,
    ]);
  }

  claim(resource: Resource, wanted: LeaseWanted, ticket: string): Promise<ClaimReply> {
    return this.run(urgent(wanted), scripts.claim, resource, parseClaim, [
      ...fieldsOf(wanted),
      wanted.initialLimit ?? '',
      ticket,
    ]);
  }

  withdraw(resource: Resource, command: WithdrawCommand): Promise<WithdrawReply> {
    return this.run(patient(command), scripts.withdraw, resource, parseWithdraw, [
      command.requestId,
      command.attach,
      command.onlyUnheard ? GIVE_BACK_UNHEARD : flag(command.giveBack),
      command.fencingToken === undefined ? '' : String(command.fencingToken),
    ]);
  }

  touch(resource: Resource, waiters: readonly CallRef[]): Promise<TouchReply> {
    const pairs = waiters.flatMap((waiter) => [waiter.requestId, waiter.attach]);
    return this.run(HIGH, scripts.touch, resource, parseTouch, [JSON.stringify(pairs)]);
  }

  renew(resource: Resource, command: RenewCommand): Promise<RenewReply> {
    return this.run(patient(command), scripts.renew, resource, parseRenew, [
      command.requestId,
      command.secret,
      command.ttlMs === undefined ? 0 : micros(command.ttlMs),
      command.stream?.attach ?? '',
      flag(command.stream?.takeOver ?? false),
      command.identity,
      command.metadata === undefined ? '' : JSON.stringify(command.metadata),
    ]);
  }

  renewMany(leases: readonly LeaseToRenew[], patience: Patience): Promise<readonly (Renewed | undefined)[]> {
    const { commands, guard, prefix } = this.options;
    const args: string[] = [];
    const keys: string[] = [];
    for (const { resource, requestId, secret, attach, identity } of leases) {
      const [state, epoch] = leaseKeys(prefix, resource);
      if (keys.length === 0) keys.push(state, epoch);
      else keys.push(state);
      args.push(requestId, secret, attach, identity);
    }
    const turn = patient(patience);
    const { head } = this;
    return commands.send({ run: scripts.renewMany, keys, head, args, read: parseRenewMany, guard, turn });
  }

  release(resource: Resource, command: ReleaseCommand): Promise<ReleaseReply> {
    return this.run(urgent(command), scripts.release, resource, parseRelease, [
      command.requestId,
      command.secret,
      command.afterLoss?.attach ?? '',
      command.identity,
    ]);
  }

  inspect(resource: Resource, caller?: object): Promise<ResourceView> {
    return this.read({ priority: 'low', caller }, scripts.inspect, resource, parseInspect);
  }

  watch(resource: Resource): Promise<WatchedView> {
    const watching = this.read(LOW, scripts.watch, resource, parseWatch);
    return watching.catch((error: unknown) => {
      if (!isRefusal(error)) throw error;
      // A Redis without its replicas, or with a failing disk, refuses scripts that may write. The server gets no hints meanwhile.
      return this.read(LOW, scripts.inspect, resource, parseWatch);
    });
  }

  listViews(step: ListStep): Promise<ListedPart<ResourceView>> {
    return this.names.views(step);
  }

  listWaiterCounts(step: ListStep): Promise<ListedPart<WaiterCount>> {
    return this.names.waiterCounts(step);
  }

  setLimit(resource: Resource, { limit, expectedLimit }: SetLimitCommand): Promise<SetLimitReply> {
    const parse = (reply: GuardedReply) => parseSetLimit(resource, reply);
    const args = [limit, expectedLimit ?? '', SHOWN_COUNT];
    return this.run(NORMAL, scripts.limit, resource, parse, args, ({ kind }) => kind === 'set');
  }

  remove(resource: Resource, { force }: RemoveCommand): Promise<RemoveReply> {
    const args = [flag(force), randomUUID()];
    // An unknown semaphore may have been deleted by an earlier try, which the replicas have not confirmed.
    return this.run(NORMAL, scripts.delete, resource, parseRemove, args, ({ kind }) => kind !== 'in-use');
  }

  /** Runs a script that shows a resource. */
  private read<T>(
    turn: Turn,
    script: Script,
    resource: Resource,
    parse: (resource: Resource, reply: readonly Reply[]) => { readonly shown: T; readonly isExact: boolean },
  ): Promise<T> {
    const { commands, prefix } = this.options;
    const read = (reply: Reply[]) => {
      // The store has leases of another layout.
      if (reply.length === 0) throw new StoreFailure('no', 'unavailable');
      const { shown, isExact } = parse(resource, reply);
      if (isExact) return shown;
      // `touch` ends a batch of expired leases, then the script counts again.
      return this.touch(resource, []).then(
        () => this.read(turn, script, resource, parse),
        (error: unknown) => {
          if (error instanceof StoreFailure && error.kind === 'quarantined') return shown;
          throw error;
        },
      );
    };
    const args = [SHOWN_COUNT, LEASE_LAYOUT];
    const keys = leaseKeys(prefix, resource);
    return commands.send({ run: script, keys, head: this.head, args, read, turn });
  }

  private recheck(resource: Resource, requestId: string): void {
    if (requestId === RESOURCE_CHANGED) this.listener?.changed(resource);
    else this.listener?.recheck(resource, requestId);
  }

  revoke(resource: Resource, command: RevokeCommand): Promise<RevokeReply> {
    const args = revokeArguments(command);
    const parse = (reply: GuardedReply) => {
      const parsed = parseRevoke(reply);
      if (reply.isRepeated && !countsAgain(command, parsed)) throw new StoreFailure('unknown', 'unavailable');
      return parsed;
    };
    // An unfinished pass need not wait, because the end of the pass confirms all its steps.
    const isPassDone = (reply: RevokeReply) => reply.kind !== 'revoked' || !reply.next?.requestId;
    return this.run(urgent(command), scripts.revoke, resource, parse, args, isPassDone);
  }

  private tell(resource: Resource, news: Reply, sentAt: number): void {
    if (typeof news === 'string') return this.recheck(resource, news);
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
    const { commands, guard, prefix, commandTimeoutMs } = this.options;
    const keys = leaseKeys(prefix, resource);
    const { head } = this;
    let firstSentAt: number | undefined;
    let isRepeated = false;
    const readAnswer = mustConfirm ? confirmed(keys[0], parse, mustConfirm) : parse;
    const read = (reply: GuardedReply, sentAt: number, by: AnsweringNode): T | Promise<T> => {
      if (reply.followUp === 'touch') this.listener?.workLeft(resource);
      for (const news of reply.news) this.tell(resource, news, sentAt);
      if (reply.isRepeated) this.listener?.mayHaveMissedNews(resource);
      // Also true if the script has answered AGAIN to a repeated command.
      isRepeated ||= reply.isRepeated;
      if (reply.word !== 'AGAIN') {
        return readAnswer(isRepeated === reply.isRepeated ? reply : { ...reply, isRepeated }, sentAt, by);
      }
      // The script has done one batch of earlier work, and must run again for its own step.
      firstSentAt ??= reply.sentAt;
      const until = Math.max(firstSentAt + commandTimeoutMs, turn.patientUntil ?? 0);
      if (reply.sentAt > until) throw new StoreFailure('unknown', 'unavailable');
      return commands.send(command);
    };
    const command = { run: script, keys, head, args, read, guard, turn };
    const running = commands.send(command);
    running.catch((error: unknown) => {
      // The reply may come after the time of the command, or never.
      if (error instanceof StoreFailure && error.carriedOut === 'unknown')
        this.listener?.mayHaveMissedNews(resource);
    });
    return running;
  }
}

/** The arguments of a request that lease-acquire.lua and lease-claim.lua share. */
function fieldsOf(wanted: LeaseWanted): (string | number)[] {
  let metadata = '';
  for (const _ in wanted.metadata) {
    metadata = JSON.stringify(wanted.metadata);
    break;
  }
  return [
    wanted.requestId,
    wanted.attach,
    wanted.secret,
    wanted.permits,
    wanted.mode === 'shared' ? 's' : 'x',
    wanted.holderId,
    metadata,
    micros(wanted.ttlMs),
    wanted.identity === '' ? '' : wanted.clientRequestId + wanted.identity,
  ];
}

/** Redis answered that it does not run the script now. */
function isRefusal(error: unknown): boolean {
  return error instanceof StoreFailure && isReplyError(error.cause);
}

/** Work on leases that exist. The store never refuses this work for lack of time. */
function urgent({ caller }: { readonly caller?: object | undefined }): Turn {
  return { priority: 'high', caller };
}

/** Work that is still useful when the store has many commands to do first. */
function patient(command: { readonly caller?: object | undefined } & Patience): Turn {
  return { ...urgent(command), patientUntil: command.patientUntil };
}

/** The value of the flag `give back` in lease-withdraw.lua for `onlyUnheard`. */
const GIVE_BACK_UNHEARD = '2';

function flag(value: boolean): string {
  return value ? '1' : '0';
}

/** Scripts measure time in whole microseconds. */
function micros(ms: number): number {
  return Math.round(ms * 1000);
}
