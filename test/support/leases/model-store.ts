import { StoreFailure } from '../../../src/base/errors';
import { type Resource, resourceKey, type ResourceView } from '../../../src/leases/lease';
import type {
  AcquireOptions,
  AcquireReply,
  ClaimReply,
  ListedPart,
  ListStep,
  LeaseStore,
  ReleaseCommand,
  ReleaseReply,
  LeaseToRenew,
  LeaseWanted,
  RenewCommand,
  Renewed,
  RemoveCommand,
  RemoveReply,
  RevokeCommand,
  RevokeReply,
  RenewReply,
  SetLimitCommand,
  SetLimitReply,
  CallRef,
  StoreListener,
  TouchReply,
  WaiterCount,
  WatchedView,
  WithdrawCommand,
  WithdrawReply,
} from '../../../src/leases/lease-store';
import type { ManualClock } from '../manual-clock';
import { LeaseModel } from './lease-model';
import { viewOf, type Unsent } from './lease-model-request';
import { showSame } from '../../../src/leases/watch-state';
import type { Clock } from '../../../src/base/clock';

/**
 * The outcome of a command: answered; carried out with a lost reply; never arrived; carried out after its caller was told
 * that the outcome is unknown; sent again after the first reply was lost; answered, and a first copy of the command runs
 * late.
 */
export type CommandOutcome =
  'answered' | 'reply-lost' | 'not-arrived' | 'runs-late' | 'sent-twice' | 'copy-runs-late';

/** The delay of a command that runs late. */
const LATE_MS = 700;

/** How long a server is told of changes after its last read for watches. */
const WATCHED_MS = 5000;

/** A command that a server sends about one lease. */
export interface SentCommand {
  readonly verb: 'renew' | 'release';
  readonly server: string;
  readonly resource: Resource;
  readonly requestId: string;
  /** The call that holds the lease. Undefined: the command comes from another call. */
  readonly attach: string | undefined;
}

/** A model that replaces Redis as the store of several servers. */
export class ModelWorld {
  /** True if hints to other servers arrive. */
  hints = true;
  /** The time of the next command to the store and back. */
  latencyOf: () => number = () => this.latencyMs;
  latencyMs = 0;
  /** The time that the next reply needs on its way, so that replies overtake each other. Undefined: half of the latency. */
  replyMsOf: (verb: string) => number | undefined = () => undefined;
  outcomeOf: (verb: string, serverId: string) => CommandOutcome = () => 'answered';
  /** Called before each renewal and release is sent. */
  onSend: (command: SentCommand) => void = () => undefined;
  /** Called after each run of a command on the model. */
  onRun: (resource: Resource, model: LeaseModel) => void = () => undefined;
  readonly log: { readonly verb: string; readonly server: string }[] = [];
  /** The servers with watches of each resource, with the time of their last read. */
  readonly watchers = new Map<string, Map<string, number>>();
  private readonly models = new Map<string, LeaseModel>();
  private readonly stores = new Map<string, ModelStore>();

  constructor(readonly clock: ManualClock) {}

  /** The store's clock, which has the rate of the world's clock but another time. */
  get nowUs(): number {
    return 1_700_000_000_000_000 + Math.round(this.clock.now() * 1000);
  }

  /** @param clock the server's clock, which may have another rate than the store's */
  store(serverId: string, clock: Clock = this.clock): ModelStore {
    let store = this.stores.get(serverId);
    if (!store) this.stores.set(serverId, (store = new ModelStore(this, serverId, clock)));
    return store;
  }

  model(resource: Resource): LeaseModel {
    const key = resourceKey(resource);
    let model = this.models.get(key);
    if (!model) this.models.set(key, (model = new LeaseModel()));
    return model;
  }

  /** The views of the resources that a list shows, of one bucket, in the order of names. */
  inUse({ service, bucket, namePrefix, holderId, identity }: ListStep): ResourceView[] {
    return [...this.models]
      .filter(([key]) => key.startsWith(`${service}:${namePrefix}`))
      .map(([key, model]) => model.view(key.slice(service.length + 1)))
      .filter(({ name }) => bucketOf(name) === bucket)
      .filter((view) =>
        service === 'lock' ? view.holderCount + view.waiterCount > 0 : view.limit !== undefined,
      )
      .filter(({ holders, waiters }) => {
        if (holderId === '' && identity === '') return true;
        return [...holders, ...waiters].some(
          (one) =>
            (holderId === '' || one.holderId === holderId) && (identity === '' || one.identity === identity),
        );
      })
      .sort((one, other) => Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)));
  }

  /** Loses all data, as FLUSHALL does. */
  forget(): void {
    this.models.clear();
    this.watchers.clear();
  }

  /** The view of a resource without leases and offers that have ended. */
  view(resource: Resource): ResourceView {
    const { requests, limit, keptLimit, lastToken } = this.model(resource);
    const alive = requests.filter(({ state, until }) => state === 'waiting' || until > this.nowUs);
    return viewOf(alive, { name: resource.name, limit, keptLimit, lastFencingToken: BigInt(lastToken) });
  }

  /** The servers that are told of a change now. */
  watchersOf(resource: Resource): string[] {
    const since = this.clock.now() - WATCHED_MS;
    const servers = this.watchers.get(resourceKey(resource)) ?? new Map<string, number>();
    return [...servers].filter(([, readAt]) => readAt >= since).map(([server]) => server);
  }

  tellChanged(server: string, resource: Resource): void {
    if (this.hints) setImmediate(() => this.stores.get(server)?.listener?.changed(resource));
  }

  tell(server: string, resource: Resource, requestId: string): void {
    if (this.hints) setImmediate(() => this.stores.get(server)?.listener?.recheck(resource, requestId));
  }
}

const BUCKET_COUNT = 4;

function bucketOf(name: string): number {
  return Buffer.byteLength(name) % BUCKET_COUNT;
}

/** The port of one server to the shared store. */
export class ModelStore implements LeaseStore {
  readonly bucketCount = BUCKET_COUNT;
  readonly bucketOf = bucketOf;
  listener: StoreListener | undefined;

  constructor(
    private readonly world: ModelWorld,
    private readonly serverId: string,
    private readonly clock: Clock,
  ) {}

  listen(listener: StoreListener): void {
    this.listener = listener;
  }

  acquire(resource: Resource, wanted: LeaseWanted, how: AcquireOptions): Promise<AcquireReply> {
    const command = { ...wanted, ...how };
    return this.run('acquire', resource, (model, now) => model.acquire(this.serverId, now, command));
  }

  claim(resource: Resource, wanted: LeaseWanted, ticket: string): Promise<ClaimReply> {
    const command = { ...wanted, ticket };
    return this.run('claim', resource, (model, now) => model.claim(this.serverId, now, command));
  }

  withdraw(resource: Resource, command: WithdrawCommand): Promise<WithdrawReply> {
    return this.run('withdraw', resource, (model, now) => model.withdraw(this.serverId, now, command));
  }

  touch(resource: Resource, waiters: readonly CallRef[]): Promise<TouchReply> {
    return this.run('touch', resource, (model, now) => model.touch(this.serverId, now, waiters));
  }

  renew(resource: Resource, command: RenewCommand): Promise<RenewReply> {
    const { requestId, stream } = command;
    if (!stream?.takeOver) this.tellSent('renew', resource, requestId, stream?.attach);
    return this.run('renew', resource, (model, now) => model.renew(this.serverId, now, command));
  }

  /** The leases travel apart, because the model has one resource for each command. */
  renewMany(leases: readonly LeaseToRenew[]): Promise<readonly (Renewed | undefined)[]> {
    return Promise.all(
      leases.map(async ({ resource, ...lease }) => {
        this.tellSent('renew', resource, lease.requestId, lease.attach);
        const { sentAt, renewed } = await this.run('renewMany', resource, (model, now) => ({
          sentAt: 0,
          renewed: model.renewHeld(now, lease),
        }));
        return renewed && { ...renewed, sentAt };
      }),
    );
  }

  release(resource: Resource, command: ReleaseCommand): Promise<ReleaseReply> {
    this.tellSent('release', resource, command.requestId, command.afterLoss?.attach);
    return this.run('release', resource, (model, now) => model.release(this.serverId, now, command));
  }

  inspect(resource: Resource): Promise<ResourceView> {
    return this.run('inspect', resource, (model) => model.view(resource.name));
  }

  watch(resource: Resource): Promise<WatchedView> {
    const { world, serverId } = this;
    return this.run('watch', resource, () => {
      const key = resourceKey(resource);
      world.watchers.set(key, (world.watchers.get(key) ?? new Map()).set(serverId, world.clock.now()));
      const view = world.view(resource);
      const ends = view.holders.map(({ expireTimeMs }) => expireTimeMs - world.nowUs / 1000);
      return { view, earliestEndMs: ends.length === 0 ? undefined : Math.min(...ends) };
    });
  }

  setLimit(resource: Resource, command: SetLimitCommand): Promise<SetLimitReply> {
    const { serverId } = this;
    return this.run('setLimit', resource, (model, now) =>
      model.setLimit(serverId, now, resource.name, command),
    );
  }

  remove(resource: Resource, command: RemoveCommand): Promise<RemoveReply> {
    return this.run('remove', resource, (model, now) => model.remove(this.serverId, now, command));
  }

  revoke(resource: Resource, command: RevokeCommand): Promise<RevokeReply> {
    return this.run('revoke', resource, (model, now) => model.revoke(this.serverId, now, command));
  }

  async listViews({ after, mostShown, ...step }: ListStep): Promise<ListedPart<ResourceView>> {
    await this.travel(this.world.latencyOf());
    const left = this.world
      .inUse({ after, mostShown, ...step })
      .filter(({ name }) => Buffer.compare(Buffer.from(name), Buffer.from(after)) > 0);
    const items = left.slice(0, mostShown);
    const last = left.length > items.length ? (items.at(-1)?.name ?? '') : '';
    return { items, last, examinedCount: items.length };
  }

  listWaiterCounts(step: ListStep): Promise<ListedPart<WaiterCount>> {
    return this.listViews(step);
  }

  private async run<Reply>(
    verb: string,
    resource: Resource,
    carryOut: (model: LeaseModel, nowUs: number) => Unsent<Reply>,
  ): Promise<Reply> {
    const { world, serverId } = this;
    const outcome = world.outcomeOf(verb, serverId);
    world.log.push({ verb, server: serverId });
    const execute = () => {
      const model = world.model(resource);
      model.told = [];
      model.direct = [];
      const watchers = world.watchersOf(resource);
      const before = watchers.length > 0 ? world.view(resource) : undefined;
      const reply = carryOut(model, world.nowUs);
      const { told } = model;
      world.onRun(resource, model);
      if (before && !showSame(before, world.view(resource))) {
        for (const server of watchers) world.tellChanged(server, resource);
      }
      for (const [server, id] of told) if (server !== serverId) world.tell(server, resource, id);
      return { reply, told, grants: model.directGrants() };
    };
    let sentAt = this.clock.now();
    const halfMs = world.latencyOf() / 2;
    const replyMs = world.replyMsOf(verb) ?? halfMs;
    await this.travel(halfMs);
    if (outcome === 'not-arrived') throw new StoreFailure('no', 'unavailable');
    if (outcome === 'runs-late' || outcome === 'copy-runs-late') world.clock.after(LATE_MS, execute);
    if (outcome === 'runs-late') throw new StoreFailure('unknown', 'unavailable');
    let { reply, told, grants } = execute();
    await this.travel(replyMs);
    if (outcome === 'reply-lost') throw new StoreFailure('unknown', 'unavailable');
    if (outcome === 'sent-twice') {
      sentAt = this.clock.now();
      await this.travel(halfMs);
      ({ reply, told, grants } = execute());
      await this.travel(replyMs);
    }
    // The second run may miss what the first run has ended.
    if (outcome === 'sent-twice' && verb === 'revoke') throw new StoreFailure('unknown', 'unavailable');
    if (outcome === 'sent-twice') this.listener?.mayHaveMissedNews(resource);
    for (const { call, grant } of grants) this.listener?.granted(resource, call, { ...grant, sentAt });
    for (const [server, id] of told) if (server === serverId) this.listener?.recheck(resource, id);
    return { ...reply, sentAt } as Reply;
  }

  private tellSent(
    verb: SentCommand['verb'],
    resource: Resource,
    requestId: string,
    attach: string | undefined,
  ): void {
    this.world.onSend({ verb, server: this.serverId, resource, requestId, attach });
  }

  private travel(ms: number): Promise<void> {
    if (ms === 0) return Promise.resolve();
    return new Promise((resolve) => this.world.clock.after(ms, () => resolve()));
  }
}
