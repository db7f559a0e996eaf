import { StoreFailure } from '../../src/engine/errors';
import type { Resource, ResourceView } from '../../src/engine/leases/lease';
import type {
  AcquireCommand,
  AcquireReply,
  ClaimCommand,
  ClaimReply,
  PermitsStore,
  ReleaseCommand,
  ReleaseReply,
  RenewCommand,
  RemoveCommand,
  RemoveReply,
  RenewReply,
  SetLimitCommand,
  SetLimitReply,
  CallRef,
  StoreListener,
  TouchReply,
  WithdrawCommand,
  WithdrawReply,
} from '../../src/engine/leases/permits-store';
import type { ManualClock } from './manual-clock';
import { PermitsModel } from './permits-model';
import type { Unsent } from './permits-model-request';

/**
 * The outcome of a command: answered; carried out with a lost reply; never arrived; carried out after its caller was told
 * that the outcome is unknown; sent again after the first reply was lost; answered, and a first copy of the command runs
 * late.
 */
export type CommandOutcome =
  'answered' | 'reply-lost' | 'not-arrived' | 'runs-late' | 'sent-twice' | 'copy-runs-late';

/** The delay of a command that runs late. */
const LATE_MS = 700;

/** A model that replaces Redis as the store of several servers. */
export class ModelWorld {
  /** True if hints to other servers arrive. */
  hints = true;
  /** The time of the next command to the store and back. */
  latencyOf: () => number = () => this.latencyMs;
  latencyMs = 0;
  outcomeOf: (verb: string, serverId: string) => CommandOutcome = () => 'answered';
  readonly log: { readonly verb: string; readonly server: string }[] = [];
  private readonly models = new Map<string, PermitsModel>();
  private readonly stores = new Map<string, ModelStore>();

  constructor(readonly clock: ManualClock) {}

  /** The store's clock, which has the rate of the servers' clocks but another time. */
  get nowUs(): number {
    return 1_700_000_000_000_000 + Math.round(this.clock.now() * 1000);
  }

  store(serverId: string): ModelStore {
    let store = this.stores.get(serverId);
    if (!store) this.stores.set(serverId, (store = new ModelStore(this, serverId)));
    return store;
  }

  model({ service, name }: Resource): PermitsModel {
    const key = `${service}:${name}`;
    let model = this.models.get(key);
    if (!model) this.models.set(key, (model = new PermitsModel()));
    return model;
  }

  /** Loses all data, as FLUSHALL does. */
  forget(): void {
    this.models.clear();
  }

  tell(server: string, resource: Resource, requestId: string): void {
    if (this.hints) setImmediate(() => this.stores.get(server)?.listener?.recheck(resource, requestId));
  }
}

/** The port of one server to the shared store. */
export class ModelStore implements PermitsStore {
  listener: StoreListener | undefined;

  constructor(
    private readonly world: ModelWorld,
    private readonly serverId: string,
  ) {}

  listen(listener: StoreListener): void {
    this.listener = listener;
  }

  acquire(resource: Resource, command: AcquireCommand): Promise<AcquireReply> {
    return this.run('acquire', resource, (model, now) => model.acquire(this.serverId, now, command));
  }

  claim(resource: Resource, command: ClaimCommand): Promise<ClaimReply> {
    return this.run('claim', resource, (model, now) => model.claim(this.serverId, now, command));
  }

  withdraw(resource: Resource, command: WithdrawCommand): Promise<WithdrawReply> {
    return this.run('withdraw', resource, (model, now) => model.withdraw(this.serverId, now, command));
  }

  touch(resource: Resource, waiters: readonly CallRef[]): Promise<TouchReply> {
    return this.run('touch', resource, (model, now) => model.touch(this.serverId, now, waiters));
  }

  renew(resource: Resource, command: RenewCommand): Promise<RenewReply> {
    return this.run('renew', resource, (model, now) => model.renew(this.serverId, now, command));
  }

  release(resource: Resource, command: ReleaseCommand): Promise<ReleaseReply> {
    return this.run('release', resource, (model, now) => model.release(this.serverId, now, command));
  }

  inspect(resource: Resource): Promise<ResourceView> {
    return this.run('inspect', resource, (model) => model.view(resource.name));
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

  private async run<Reply>(
    verb: string,
    resource: Resource,
    carryOut: (model: PermitsModel, nowUs: number) => Unsent<Reply>,
  ): Promise<Reply> {
    const { world, serverId } = this;
    const outcome = world.outcomeOf(verb, serverId);
    world.log.push({ verb, server: serverId });
    const execute = () => {
      const model = world.model(resource);
      model.told = [];
      model.direct = [];
      const reply = carryOut(model, world.nowUs);
      const { told } = model;
      for (const [server, id] of told) if (server !== serverId) world.tell(server, resource, id);
      return { reply, told, grants: model.directGrants() };
    };
    let sentAt = world.clock.now();
    const halfMs = world.latencyOf() / 2;
    await this.travel(halfMs);
    if (outcome === 'not-arrived') throw new StoreFailure('no', 'unavailable');
    if (outcome === 'runs-late' || outcome === 'copy-runs-late') world.clock.after(LATE_MS, execute);
    if (outcome === 'runs-late') throw new StoreFailure('unknown', 'unavailable');
    let { reply, told, grants } = execute();
    await this.travel(halfMs);
    if (outcome === 'reply-lost') throw new StoreFailure('unknown', 'unavailable');
    if (outcome === 'sent-twice') {
      sentAt = world.clock.now();
      await this.travel(halfMs);
      ({ reply, told, grants } = execute());
      await this.travel(halfMs);
    }
    if (outcome === 'sent-twice') this.listener?.mayHaveMissedNews(resource);
    for (const { call, grant } of grants) this.listener?.granted(resource, call, { ...grant, sentAt });
    for (const [server, id] of told) if (server === serverId) this.listener?.recheck(resource, id);
    return { ...reply, sentAt } as Reply;
  }

  private travel(ms: number): Promise<void> {
    if (ms === 0) return Promise.resolve();
    return new Promise((resolve) => this.world.clock.after(ms, () => resolve()));
  }
}
