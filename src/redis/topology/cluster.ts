import { reportDefect, StoreFailure } from '../../base/errors';
import type { ClusterAddress } from '../../base/redis-address';
import type { Quarantine, StoreHealth, StoreOperations } from '../../base/store-state';
import { Lanes } from '../../flow/lanes';
import { ChangeSignal } from '../../flow/waiting';
import { absentKey, bucketsBySlot, slotOfKey } from '../buckets';
import type { Command, Commands } from '../commands';
import { NO_HINTS } from '../connection';
import { nodeEndpoint, type RedisEndpoint, type Security } from '../endpoint';
import type { NodeReport } from '../node/report';
import {
  clusterHealth,
  type ClusterHealth,
  endQuarantines,
  isSameHealth,
  longestOf,
  sourceRunsTo,
} from './cluster-health';
import { ClusterMap } from './cluster-map';
import { ClusterRouter, OWNER_PATIENCE_MS } from './cluster-router';
import { addressOf, type ClusterView, ClusterWatch, hostOf, type Source } from './cluster-watch';
import { type NodeOptions, RedisNode } from './node';

const ADOPTIONS_IN_FLIGHT = 16;

/**
 * Adopts the epochs of a slot immediately after the slot has moved to another node. An epoch that is not adopted still
 * names the run of the former node. If such a slot moved again, no server could tell whether the node in between has
 * lost grants.
 */
class MovedSlots {
  private readonly waiting = new Set<number>();
  private readonly lanes = new Lanes(ADOPTIONS_IN_FLIGHT);

  constructor(
    private readonly adopt: (slot: number) => Promise<void>,
    private readonly onError: (error: Error) => void,
  ) {}

  add(slot: number): void {
    if (this.waiting.has(slot)) return;
    this.waiting.add(slot);
    const adoption = this.lanes.run(undefined, () => {
      this.waiting.delete(slot);
      return this.adopt(slot);
    });
    // After a store failure, the slot has moved again, or the node takes no commands. The first command that needs the
    // epoch tries again.
    adoption.catch((error: unknown) => reportDefect(error, (defect) => this.onError(defect as Error)));
  }
}

export interface ClusterOptions extends Omit<
  NodeOptions,
  'endpoint' | 'topology' | 'onRedirect' | 'onReady' | 'nodeBuckets'
> {
  readonly address: ClusterAddress;
  readonly security: Security;
  /** False: the Cluster has dictionaries only, and so no epochs of buckets. Default: true. */
  readonly hasLeases?: boolean;
}

interface Member {
  readonly node: RedisNode;
  /** Slots that have moved to this node, until their epochs are adopted. */
  readonly movedSlots: MovedSlots;
  /** Since this time (ms) the node has no slots; undefined: the node has slots. */
  idleSince: number | undefined;
}

/**
 * A Redis Cluster: a connection to each master, and the map of slot owners. Callers see no redirection unless an
 * operation runs out of time. A slow node delays only the operations on its own slots.
 */
export class RedisCluster implements Commands, StoreHealth, StoreOperations {
  private readonly members = new Map<string, Member>();
  private readonly map = new ClusterMap();
  /** Masters and replicas of the last view. */
  private knownAddresses: ReadonlySet<string> = new Set();
  private readonly watch: ClusterWatch;
  private readonly router: ClusterRouter;
  private readonly changeSignal: ChangeSignal;
  private readonly listeners: (() => void)[] = [];
  private readonly layoutListeners: (() => void)[] = [];
  private health: ClusterHealth = clusterHealth([], () => 'new');
  private hintsRefused = false;
  /** False until the first map. `storeIsNew` does not hold for nodes that join later. */
  private started = false;

  constructor(private readonly options: ClusterOptions) {
    this.changeSignal = new ChangeSignal(options.clock);
    const seeds = options.address.seeds.map(addressOf);
    this.watch = new ClusterWatch({
      ...options,
      sources: () => this.sources(),
      seeds: () => [...new Set([...seeds, ...this.knownAddresses])],
      endpoint: (address) => this.endpoint(address),
      isWhole: () => this.health.whole,
      onView: (view, askedAt) => this.adopt(view, askedAt),
    });
    this.router = new ClusterRouter({
      ...options,
      changeSignal: this.changeSignal,
      ownerOf: (slot) => {
        const owner = this.map.ownerOf(slot);
        return owner === undefined ? undefined : this.members.get(owner)?.node.connection;
      },
      connectionTo: (address) => this.member(address).node.connection,
      onMoved: (slot, address) => this.assign(slot, address),
      onDoubt: () => this.watch.soon(),
    });
    this.watch.soon();
  }

  get reachable(): boolean {
    return this.health.reachable;
  }

  get suitable(): boolean {
    return this.health.suitable;
  }

  get warnings(): readonly string[] {
    return this.hintsRefused ? [...this.health.warnings, NO_HINTS] : this.health.warnings;
  }

  /** A sentence about rights that the Redis user lacks at a node. Undefined: the user has all, or is not known. */
  get missingRights(): string | undefined {
    return this.masterNodes().find(({ connection }) => connection.missingRights !== undefined)?.connection
      .missingRights;
  }

  get hasLibrary(): boolean | undefined {
    const known = this.masterNodes().flatMap(({ hasLibrary }) => hasLibrary ?? []);
    return known.length === 0 ? undefined : known.every(Boolean);
  }

  /** The longest remaining quarantine of any node. */
  get quarantine(): Quarantine | undefined {
    return longestOf([...this.members.values()].map(({ node }) => node.quarantine));
  }

  /** Ends the quarantines of all nodes that answer. */
  endQuarantine(): Promise<Quarantine | undefined> {
    return endQuarantines(this.masterNodes());
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Whether all nodes let this server subscribe to the hints of other servers. */
  setHints(allowed: boolean): void {
    if (this.hintsRefused === !allowed) return;
    this.hintsRefused = !allowed;
    for (const listener of this.listeners) listener();
  }

  /** The masters that have slots. */
  get masters(): readonly string[] {
    return [...this.members].flatMap(([address, { idleSince }]) =>
      idleSince === undefined ? [address] : [],
    );
  }

  ownerOf(slot: number): string | undefined {
    return this.map.ownerOf(slot);
  }

  /** The buckets of a node, by slot. */
  bucketsOf(address: string): readonly (readonly number[])[] {
    return this.options.hasLeases === false ? [] : this.map.bucketsOf(address);
  }

  /** Calls the listener whenever the map was refreshed or corrected. */
  onLayout(listener: () => void): void {
    this.layoutListeners.push(listener);
  }

  /** Refreshes the map as soon as the shortest interval between two refreshes allows. */
  refresh(): void {
    this.watch.soon();
  }

  /** Resolves when nodes with at least half of the slots answer, or rejects after `timeoutMs`. */
  async ready(timeoutMs: number): Promise<void> {
    const deadline = this.options.clock.now() + timeoutMs;
    while (!this.reachable) {
      if (!(await this.changeSignal.before(deadline))) throw new StoreFailure('no', 'unavailable');
    }
    // Enough nodes answer. The other nodes may answer soon, so the start waits for these nodes a little longer.
    const patience = Math.min(deadline, this.options.clock.now() + OWNER_PATIENCE_MS);
    while (!this.health.whole && (await this.changeSignal.before(patience)));
    // An adoption that fails now is repeated by the first command that needs the epoch.
    const reachable = this.masterNodes().filter((node) => node.reachable);
    for (const { connection } of reachable) connection.expectRights();
    await Promise.allSettled(reachable.map(({ epochs }) => epochs.adopt()));
  }

  reportOf(key: string): NodeReport | undefined {
    const owner = this.map.ownerOf(slotOfKey(key));
    return owner === undefined ? undefined : this.members.get(owner)?.node.connection.answering.report;
  }

  send<T>(command: Command<T>): Promise<T> {
    return this.router.withOwner(command.keys[0], ({ commands }) => commands.send(withAbsentKey(command)));
  }

  close(): void {
    this.router.close();
    this.watch.close();
    for (const { node } of this.members.values()) node.close();
    this.changeSignal.close();
  }

  private masterNodes(): RedisNode[] {
    return this.masters.flatMap((address) => this.members.get(address)?.node ?? []);
  }

  private member(address: string): Member {
    const known = this.members.get(address);
    if (known) return known;
    const node = new RedisNode({
      ...this.options,
      endpoint: this.endpoint(address),
      topology: 'cluster',
      storeIsNew: this.options.storeIsNew && !this.started,
      onRedirect: (redirected) => this.router.redirect(redirected, address),
      onReady: () => this.changeSignal.changed(),
      nodeBuckets: {
        buckets: () => this.bucketsOf(address),
        sourceRuns: (keys) => this.sourceRunsTo(address, keys),
        // The next view of the Cluster then confirms this run as the owner of its slots.
        onSettled: () => this.watch.soon(),
      },
    });
    node.onChange(() => this.judge());
    const movedSlots = new MovedSlots((slot) => this.adoptSlot(node, address, slot), this.options.onError);
    const member: Member = { node, movedSlots, idleSince: this.options.clock.now() };
    this.members.set(address, member);
    return member;
  }

  private sourceRunsTo(address: string, keys: readonly string[]): Promise<readonly string[]> {
    const slot = slotOfKey(keys[0] ?? '');
    const path = () => this.map.pathTo(address, slot, this.options.clock.now());
    return sourceRunsTo(address, path, (other) => this.members.get(other)?.node);
  }

  private assign(slot: number, address: string): void {
    if (this.map.ownerOf(slot) === address) return;
    this.member(address).idleSince = undefined;
    this.adoptSlots(this.map.correct(slot, address, this.options.clock.now()));
    this.watch.soon();
    this.onMapChanged();
  }

  private adopt(view: ClusterView, askedAt: number): void {
    const now = this.options.clock.now();
    const movedSlots = this.map.adopt(view, askedAt, now);
    this.knownAddresses = view.members;
    const masters = new Set(view.owners);
    for (const address of masters) if (address !== undefined) this.member(address).idleSince = undefined;
    this.started = true;
    this.adoptSlots(movedSlots);
    this.closeIdleMembers(masters, now);
    this.onMapChanged();
  }

  private closeIdleMembers(masters: ReadonlySet<string | undefined>, now: number): void {
    for (const [address, member] of this.members) {
      if (masters.has(address)) continue;
      member.idleSince ??= now;
      // After this time, every command that was sent to the node is answered or given up.
      if (now - member.idleSince <= 2 * this.options.commandTimeoutMs) continue;
      member.node.close();
      this.members.delete(address);
    }
  }

  private onMapChanged(): void {
    this.judge();
    for (const listener of this.layoutListeners) listener();
  }

  private async adoptSlot({ epochs }: RedisNode, address: string, slot: number): Promise<void> {
    const buckets = this.options.hasLeases === false ? undefined : bucketsBySlot.get(slot);
    if (buckets) await epochs.adoptArrived(buckets);
    this.map.settle(slot, address);
  }

  /** Adopts moved slots eagerly, even for idle names: a slot may soon move again. */
  private adoptSlots(slots: readonly number[]): void {
    for (const slot of slots) {
      const owner = this.map.ownerOf(slot);
      if (owner !== undefined) this.members.get(owner)?.movedSlots.add(slot);
    }
  }

  private judge(): void {
    const before = this.health;
    const now = this.options.clock.now();
    this.health = clusterHealth(this.map.owners, (address) => {
      const node = this.members.get(address)?.node;
      if (!node || (!node.reachable && now < node.connection.patienceEnds)) return 'new';
      return node;
    });
    if (!isSameHealth(before, this.health)) {
      for (const listener of this.listeners) listener();
      if (!this.health.whole) this.watch.soon();
    }
    this.changeSignal.changed();
  }

  private sources(): Source[] {
    return [...this.members].flatMap(
      ([
        address,
        {
          node: { connection },
        },
      ]) =>
        connection.isReady
          ? [{ address, ask: (...command) => connection.ask(...command) } satisfies Source]
          : [],
    );
  }

  private endpoint(address: string): RedisEndpoint {
    return nodeEndpoint(this.options.address, hostOf(address), this.options.security);
  }
}

/** A command of Redis has one key, so it needs no absent key while the slot moves. */
function withAbsentKey<T>(command: Command<T>): Command<T> {
  const [first] = command.keys;
  if (first === undefined || typeof command.run === 'string') return command;
  return { ...command, keys: [...command.keys, absentKey(first)] };
}
