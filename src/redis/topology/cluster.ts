import { StoreFailure } from '../../engine/errors';
import type { Quarantine, StoreHealth, StoreOperations } from '../../engine/store-health';
import { nodeEndpoint, type RedisOptions, type Security, type StoreAddress } from '../address';
import { ChangeSignal } from '../connection/change-signal';
import { clusterHealth, isSameHealth, type ClusterHealth } from './cluster-health';
import { addressOf, hostOf, redirection, type ClusterView } from './cluster-view';
import { Arrivals } from './cluster-arrivals';
import { ClusterMap } from './cluster-map';
import { endQuarantines, sourceRunsTo, longestOf } from './cluster-quarantine';
import { ClusterWatch, type Source } from './cluster-watch';
import {
  NO_HINTS,
  type Commands,
  type RedisConnection,
  type RedirectedOperation,
} from '../connection/connection';
import type { GuardChoice, RawArgument, Script } from '../connection/operation';
import { absentKey, bucketsBySlot, slotOfKey } from '../keys';
import { RedisNode, type NodeOptions } from './node';
import type { RawReply, Reply } from '../connection/script-command';

export interface ClusterOptions extends Omit<
  NodeOptions,
  'url' | 'topology' | 'onStray' | 'onReady' | 'share'
> {
  readonly address: Extract<StoreAddress, { kind: 'cluster' }>;
  readonly security: Security;
}

/** A node that commands are sent to. */
interface Node {
  readonly node: RedisNode;
  readonly arrivals: Arrivals;
  /** Since when it has no slot; undefined: it has some. */
  idleSince: number | undefined;
}

/** Before a command is tried again that may be taken a moment later: its slot moves, or a master is being chosen. */
const PAUSE_MS = 20;
/** Two nodes that point at each other are not asked in turns as fast as they answer. */
const TURNS_WITHOUT_PAUSE = 3;
/** Nobody waits longer than this for a slot to have a master. */
const OWNER_PATIENCE_MS = 1000;

/**
 * A Redis Cluster: a connection to each master, and the map that says whose a slot is. A command that is turned away was
 * not carried out, so it goes to where it belongs or is tried again, within its own time; nobody hears of that unless
 * the time runs out. Each node is on its own: what one does not answer holds nobody up who needs another.
 */
export class RedisCluster implements Commands, StoreHealth, StoreOperations {
  private readonly nodes = new Map<string, Node>();
  private readonly map = new ClusterMap();
  private members: ReadonlySet<string> = new Set();
  private readonly watch: ClusterWatch;
  /** A node can be used, or the map is another one. */
  private readonly changeSignal: ChangeSignal;
  private readonly listeners: (() => void)[] = [];
  private readonly layoutListeners: (() => void)[] = [];
  private health: ClusterHealth = clusterHealth([], () => 'new');
  private hintsRefused = false;
  private closed = false;
  /** There has been a map. A node that is met later has not been there from the start. */
  private started = false;

  constructor(private readonly options: ClusterOptions) {
    this.changeSignal = new ChangeSignal(options.clock);
    const seeds = options.address.seeds.map(addressOf);
    this.watch = new ClusterWatch({
      ...options,
      sources: () => this.sources(),
      seeds: () => [...new Set([...seeds, ...this.members])],
      endpoint: (address) => this.endpoint(address),
      isWhole: () => this.health.whole,
      onView: (view, askedAt) => this.adopt(view, askedAt),
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

  /** Of the node whose lasts longest. */
  get quarantine(): Quarantine | undefined {
    return longestOf([...this.nodes.values()].map(({ node }) => node.quarantine));
  }

  /** At all nodes that answer. */
  endQuarantine(): Promise<Quarantine | undefined> {
    return endQuarantines(this.masters.flatMap((address) => this.nodes.get(address)?.node ?? []));
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Whether all nodes let us hear of what other servers do. */
  setHints(allowed: boolean): void {
    if (this.hintsRefused === !allowed) return;
    this.hintsRefused = !allowed;
    for (const listener of this.listeners) listener();
  }

  /** The masters that have slots. */
  get masters(): readonly string[] {
    return [...this.nodes].flatMap(([address, { idleSince }]) => (idleSince === undefined ? [address] : []));
  }

  ownerOf(slot: number): string | undefined {
    return this.map.ownerOf(slot);
  }

  /** Calls whenever the map was looked at or corrected. */
  onLayout(listener: () => void): void {
    this.layoutListeners.push(listener);
  }

  /** The map was found to be wrong. */
  refresh(): void {
    this.watch.soon();
  }

  /** Resolves when enough of it answers to be of use, or rejects after `timeoutMs`. */
  async ready(timeoutMs: number): Promise<void> {
    const deadline = this.options.clock.now() + timeoutMs;
    while (!this.reachable) {
      if (!(await this.changeSignal.before(deadline))) throw new StoreFailure('no', 'unavailable');
    }
    // The others may be just about to answer.
    const patience = Math.min(deadline, this.options.clock.now() + OWNER_PATIENCE_MS);
    while (!this.health.whole && (await this.changeSignal.before(patience)));
    // What cannot be done now is done when it is needed.
    const all = this.masters.flatMap((address) => this.nodes.get(address)?.node ?? []);
    await Promise.allSettled(all.filter(({ reachable }) => reachable).map(({ epochs }) => epochs.adopt()));
  }

  run<T>(
    what: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    read: (reply: Reply[], sentAt: number) => T | Promise<T>,
    guard?: GuardChoice,
  ): Promise<T> {
    return this.at(keys[0], (node) => node.run(what, guarded(keys), args, read, guard));
  }

  runRaw<T>(
    what: Script,
    keys: readonly string[],
    args: readonly RawArgument[],
    read: (reply: RawReply[], sentAt: number) => T | Promise<T>,
    once = false,
  ): Promise<T> {
    return this.at(keys[0], (node) => node.runRaw(what, guarded(keys), args, read, once));
  }

  /** The command has one key, its first argument: that alone is where its slot is, while it moves too. */
  query<T>(
    command: string,
    args: readonly RawArgument[],
    read: (reply: RawReply[], sentAt: number) => T | Promise<T>,
  ): Promise<T> {
    return this.at(String(args[0]), (node) => node.query(command, args, read));
  }

  close(): void {
    this.closed = true;
    this.watch.close();
    for (const { node } of this.nodes.values()) node.close();
    this.changeSignal.close();
  }

  private at<T>(key: string | undefined, use: (node: RedisConnection) => Promise<T>): Promise<T> {
    const slot = slotOfKey(key ?? '');
    const owner = this.master(slot);
    return owner ? use(owner) : this.masterSoon(slot).then(use);
  }

  private master(slot: number): RedisConnection | undefined {
    const owner = this.map.ownerOf(slot);
    return owner === undefined ? undefined : this.nodes.get(owner)?.node.connection;
  }

  private async masterSoon(slot: number): Promise<RedisConnection> {
    const { clock, commandTimeoutMs } = this.options;
    const deadline = clock.now() + Math.min(commandTimeoutMs, OWNER_PATIENCE_MS);
    for (;;) {
      if (!(await this.changeSignal.before(deadline))) throw new StoreFailure('no', 'unavailable');
      const owner = this.master(slot);
      if (owner) return owner;
    }
  }

  private node(address: string): Node {
    const known = this.nodes.get(address);
    if (known) return known;
    const node = new RedisNode({
      ...this.options,
      url: this.endpoint(address),
      topology: 'cluster',
      storeIsNew: this.options.storeIsNew && !this.started,
      onRedirect: (stray) => this.carryOn(stray, address),
      onReady: () => this.changeSignal.changed(),
      nodeBuckets: {
        buckets: () => this.bucketsOf(address),
        sourceRuns: (keys) => this.giversTo(address, keys),
        // From the next look on it is one that was there before.
        settled: () => this.watch.soon(),
      },
    });
    node.onChange(() => this.judge());
    const arrivals = new Arrivals((slot) => this.adoptArrived(node, address, slot), this.options.onError);
    const made: Node = { node, arrivals, idleSince: this.options.clock.now() };
    this.nodes.set(address, made);
    return made;
  }

  /** The buckets that a node has, by slot. */
  bucketsOf(address: string): readonly (readonly number[])[] {
    return this.map.bucketsOf(address);
  }

  private giversTo(address: string, keys: readonly string[]): Promise<readonly string[]> {
    const slot = slotOfKey(keys[0] ?? '');
    const path = () => this.map.pathTo(address, slot, this.options.clock.now());
    return sourceRunsTo(address, path, (other) => this.nodes.get(other)?.node);
  }

  /** What a node turned away or did not answer. */
  private carryOn(stray: RedirectedOperation, from: string): void {
    const { operation, word } = stray;
    operation.turns += 1;
    const target = word === undefined ? undefined : redirection(word, from);
    const isPatient = operation.turns <= TURNS_WITHOUT_PAUSE;
    if (target && word?.startsWith('MOVED')) {
      this.assign(target.slot, target.address);
      if (isPatient) return this.place(stray);
    } else if (target) {
      const { connection } = this.node(target.address).node;
      if (isPatient && connection.isReady) return connection.carryOn(stray, true);
    } else if (word === undefined && !stray.from.isReady) {
      this.watch.soon();
      return this.place(stray);
    } else if (word?.startsWith('TRYAGAIN') !== true) {
      this.watch.soon();
    }
    this.options.clock.after(PAUSE_MS, () => this.place(stray));
  }

  /** To the node whose the slot is, as soon as that takes commands. */
  private place(stray: RedirectedOperation): void {
    const { operation, written } = stray;
    const owner = this.master(slotOfKey(operation.keys[0] ?? ''));
    const until = Math.min(operation.deadline, owner?.patienceEnds ?? Infinity);
    const now = this.options.clock.now();
    // A try that has no time for its answer would only make the outcome unknown.
    if (now + PAUSE_MS < operation.deadline && owner?.isReady) return owner.carryOn(stray, false);
    if (this.closed || owner?.isReady || now >= until) {
      return operation.reject(new StoreFailure(written ? 'unknown' : 'no', 'unavailable'));
    }
    void this.changeSignal.before(until).then(() => this.place(stray));
  }

  private assign(slot: number, address: string): void {
    if (this.map.ownerOf(slot) === address) return;
    this.node(address).idleSince = undefined;
    this.receive(this.map.correct(slot, address, this.options.clock.now()));
    this.watch.soon();
    this.judge();
    for (const listener of this.layoutListeners) listener();
  }

  private adopt(view: ClusterView, askedAt: number): void {
    const { clock, commandTimeoutMs } = this.options;
    const moved = this.map.adopt(view, askedAt, clock.now());
    this.members = view.members;
    const masters = new Set(view.owners);
    for (const address of masters) if (address !== undefined) this.node(address).idleSince = undefined;
    this.started = true;
    this.receive(moved);
    for (const [address, node] of this.nodes) {
      if (masters.has(address)) continue;
      node.idleSince ??= clock.now();
      // What it was sent is answered or given up by now.
      if (clock.now() - node.idleSince <= 2 * commandTimeoutMs) continue;
      node.node.close();
      this.nodes.delete(address);
    }
    this.judge();
    for (const listener of this.layoutListeners) listener();
  }

  private async adoptArrived({ epochs }: RedisNode, address: string, slot: number): Promise<void> {
    await epochs.adoptArrived(bucketsBySlot.get(slot) ?? []);
    this.map.settle(slot, address);
  }

  /** What an idle name has waits for nobody: its slot may move on. */
  private receive(slots: readonly number[]): void {
    for (const slot of slots) {
      const owner = this.map.ownerOf(slot);
      if (owner !== undefined) this.nodes.get(owner)?.arrivals.add(slot);
    }
  }

  private judge(): void {
    const before = this.health;
    const now = this.options.clock.now();
    this.health = clusterHealth(this.map.owners, (address) => {
      const node = this.nodes.get(address)?.node;
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
    return [...this.nodes].flatMap(([address, { node }]) =>
      node.connection.isReady
        ? [{ address, ask: (...command) => node.connection.ask(...command) } satisfies Source]
        : [],
    );
  }

  private endpoint(address: string): RedisOptions {
    return nodeEndpoint(this.options.address, hostOf(address), this.options.security);
  }
}

function guarded(keys: readonly string[]): readonly string[] {
  const [first] = keys;
  return first === undefined ? keys : [...keys, absentKey(first)];
}
