import { StoreFailure } from '../../../src/base/errors';
import type { Resource, ResourceView, Service } from '../../../src/leases/lease';
import type {
  AcquireOptions,
  AcquireReply,
  ClaimReply,
  Granted,
  ListedPart,
  ListStep,
  QueueSnapshot,
  LeaseStore,
  ReleaseCommand,
  ReleaseReply,
  LeaseToRenew,
  LeaseWanted,
  Patience,
  RenewCommand,
  Renewed,
  RenewReply,
  RemoveCommand,
  RemoveReply,
  RevokeCommand,
  RevokeReply,
  SetLimitCommand,
  SetLimitReply,
  CallRef,
  StoreListener,
  TouchReply,
  WaiterCount,
  Waiting,
  WatchedView,
  WithdrawCommand,
  WithdrawReply,
} from '../../../src/leases/lease-store';
import { type ManualClock, settled } from '../manual-clock';

/** The arguments and the reply of each command. */
interface Commands {
  acquire: [LeaseWanted & AcquireOptions, AcquireReply];
  claim: [LeaseWanted & { readonly ticket: string }, ClaimReply];
  withdraw: [WithdrawCommand, WithdrawReply];
  touch: [readonly CallRef[], TouchReply];
  renew: [RenewCommand, RenewReply];
  renewMany: [readonly LeaseToRenew[], readonly (Renewed | undefined)[]];
  release: [ReleaseCommand, ReleaseReply];
  inspect: [undefined, ResourceView];
  watch: [undefined, WatchedView];
  setLimit: [SetLimitCommand, SetLimitReply];
  remove: [RemoveCommand, RemoveReply];
  revoke: [RevokeCommand, RevokeReply];
  listViews: [ListStep, ListedPart<ResourceView>];
  listWaiterCounts: [ListStep, ListedPart<WaiterCount>];
}
export type Verb = keyof Commands;

/** A command in flight. */
export interface Sent<V extends Verb> {
  readonly verb: V;
  readonly resource: Resource;
  readonly command: Commands[V][0];
  /** The clock time at which the command was sent. */
  readonly at: number;
  answer(reply: Commands[V][1]): Promise<void>;
  fail(carriedOut?: 'no' | 'unknown', kind?: StoreFailure['kind'], retryAfterMs?: number): Promise<void>;
  /** Rejects with a defect instead of a store failure. */
  throw(error: Error): Promise<void>;
}

export const EMPTY_SNAPSHOT: QueueSnapshot = {
  earliestEndMs: undefined,
  waiterCount: 0,
  holder: undefined,
  holderEndMs: undefined,
  limit: 1,
  usedCount: 0,
};

/** A store without rules. The test sees each command and chooses its reply. */
export class FakeStore implements LeaseStore {
  readonly bucketCount = 4;
  /** By the length of the name. */
  readonly bucketOf = (name: string) => name.length % this.bucketCount;
  listener: StoreListener | undefined;
  /** Every command, answered or not. */
  readonly log: { readonly verb: Verb; readonly at: number }[] = [];
  private unanswered: Sent<Verb>[] = [];

  constructor(private readonly clock: ManualClock) {}

  listen(listener: StoreListener): void {
    this.listener = listener;
  }

  acquire = (resource: Resource, wanted: LeaseWanted, how: AcquireOptions) =>
    this.send('acquire', resource, { ...wanted, ...how });
  claim = (resource: Resource, wanted: LeaseWanted, ticket: string) =>
    this.send('claim', resource, { ...wanted, ticket });
  withdraw = (resource: Resource, command: WithdrawCommand) => this.send('withdraw', resource, command);
  touch = (resource: Resource, waiters: readonly CallRef[]) => this.send('touch', resource, waiters);
  renew = (resource: Resource, command: RenewCommand) => this.send('renew', resource, command);
  /** The patience of the latest common renewal. */
  renewManyPatience: Patience = {};
  renewMany = (leases: readonly LeaseToRenew[], patience: Patience) => {
    this.renewManyPatience = patience;
    return this.send('renewMany', { service: 'lock', name: '' }, leases);
  };
  release = (resource: Resource, command: ReleaseCommand) => this.send('release', resource, command);
  inspect = (resource: Resource) => this.send('inspect', resource, undefined);
  watch = (resource: Resource) => this.send('watch', resource, undefined);
  setLimit = (resource: Resource, command: SetLimitCommand) => this.send('setLimit', resource, command);
  remove = (resource: Resource, command: RemoveCommand) => this.send('remove', resource, command);
  revoke = (resource: Resource, command: RevokeCommand) => this.send('revoke', resource, command);

  listViews = (step: ListStep) => this.send('listViews', resourceOf(step), step);
  listWaiterCounts = (step: ListStep) => this.send('listWaiterCounts', resourceOf(step), step);

  /** The earliest command of this kind in flight. Throws if there is no such command. */
  async next<V extends Verb>(verb: V): Promise<Sent<V>> {
    await settled();
    const found = this.unanswered.find((sent) => sent.verb === verb);
    if (!found) throw new Error(`no ${verb} is in flight, but: ${this.inFlight.join(', ') || 'nothing'}`);
    this.unanswered = this.unanswered.filter((sent) => sent !== found);
    return found as unknown as Sent<V>;
  }

  get inFlight(): Verb[] {
    return this.unanswered.map(({ verb }) => verb);
  }

  count(verb: Verb): number {
    return this.log.filter((entry) => entry.verb === verb).length;
  }

  private send<V extends Verb>(
    verb: V,
    resource: Resource,
    command: Commands[V][0],
  ): Promise<Commands[V][1]> {
    const at = this.clock.now();
    this.log.push({ verb, at });
    return new Promise((resolve, reject) => {
      const then = (settle: () => void) => {
        settle();
        return settled();
      };
      const sent: Sent<V> = {
        verb,
        resource,
        command,
        at,
        answer: (reply) => then(() => resolve(reply)),
        fail: (carriedOut = 'unknown', kind = 'unavailable', retryAfterMs?: number) =>
          then(() => reject(new StoreFailure(carriedOut, kind, { retryAfterMs }))),
        throw: (error) => then(() => reject(error)),
      };
      this.unanswered.push(sent);
    });
  }
}

/** A step of a list has no resource. */
function resourceOf({ service }: { readonly service: Service }): Resource {
  return { service, name: '' };
}

export function grantedAt(sentAt: number, values: Partial<Granted> = {}): Granted {
  const secret = 'AAAAAAAAAAAAAAAAAAAAAA';
  return {
    kind: 'granted',
    sentAt,
    fencingToken: 7n,
    remainingMs: 30_000,
    ttlMs: 30_000,
    secret,
    permits: 1,
    ...values,
  };
}

export function waitingAt(sentAt: number, values: Partial<Waiting> = {}): Waiting {
  return {
    kind: 'waiting',
    sentAt,
    ticket: '1000',
    position: 1,
    snapshot: { ...EMPTY_SNAPSHOT, waiterCount: 1 },
    ...values,
  };
}
