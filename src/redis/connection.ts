import type { Redis } from 'ioredis';
import type { Clock, Timer } from '../base/clock';
import { StoreFailure } from '../base/errors';
import { AnsweringNode, ReplicaConfirmations } from './node/confirmations';
import { ChangeSignal } from '../flow/waiting';
import { openClient, RECONNECT_PATIENCE_MS, safeOptions } from './redis-client';
import type { CommandLink, EpochGuard, RedirectedOperation } from './commands';
import type { Script } from './script';
import { nodeName, type CommandMeter, type CommandMeters } from './command-meters';
import { CommandRunner } from './runner';
import type { RedisEndpoint } from './endpoint';
import { LoadedLibrary } from './library';
import { NotPermitted, rightsFor, type Topology } from './node/node-answers';
import { NodeProbe, type ProbeListener } from './node/probe';
import { ServerClock } from './node/server-clock';

export interface ConnectionOptions {
  readonly endpoint: RedisEndpoint;
  /** How the Redis nodes work together (Sentinel or Cluster). Undefined: a single Redis. */
  readonly topology?: Topology;
  /** The longest time for which a client may believe in a lease after the store has lost the lease (ms). */
  readonly quarantineMs?: number;
  /** How long one store operation may take, with all its retries (ms). A renewal or a withdrawal may also wait for its turn. */
  readonly commandTimeoutMs: number;
  /**
   * Loaded into each Redis on connect, so that no command must carry the text of its script. If Redis takes the library of
   * some scripts, it gets the library in place of these scripts.
   */
  readonly scripts?: readonly Script[];
  /** The first part of every key. Undefined: the rights of the Redis user are not checked. */
  readonly prefix?: string;
  /** A bucket of this Redis. Undefined: not known yet. Default: 0. */
  readonly anyBucket?: () => number | undefined;
  readonly clock: Clock;
  readonly onError: (error: Error) => void;
  /** Takes over operations that this node redirected or did not answer. Default: they are sent to this node again. */
  readonly onRedirect?: (redirected: RedirectedOperation) => void;
  /** Called when commands can be sent, at first and after each new connection. */
  readonly onReady?: () => void;
  /** Counts the commands of this connection. Default: nobody counts. */
  readonly meters?: CommandMeters | undefined;
  /** Gets each report of the node, and guards the node's scripts. */
  readonly guard?: ProbeListener & EpochGuard;
}

export const NO_HINTS =
  'this Redis user may not subscribe to channels, so a waiter on another server may wait up to a second longer for its grant; allow the channels &PREFIX:* to the user';

const NO_CONFIRMATIONS =
  'this Redis user may not run WAIT, so calls that set limits, create or import dictionaries, or end a quarantine end with OUTCOME_UNKNOWN; allow +wait to the user';

/** One connection to Redis for commands: connects, reconnects, probes the node, and knows whether commands can be sent. */
export class RedisConnection implements CommandLink {
  readonly commands: CommandRunner;
  readonly library: LoadedLibrary | undefined;
  meter: CommandMeter | undefined;
  private hintsRefused = false;
  readonly client: Redis;
  private readonly probe: NodeProbe;
  private readonly serverClock = new ServerClock();
  private readonly confirmations: ReplicaConfirmations;
  private answeringNode: AnsweringNode | undefined;
  private readonly listeners: (() => void)[] = [];
  private readonly readySignal: ChangeSignal;
  private connected = false;
  private downSince: number;
  private downTimer: Timer | undefined;
  private closed = false;

  constructor(private readonly options: ConnectionOptions) {
    const { clock, guard, onRedirect, commandTimeoutMs, topology, prefix, scripts = [] } = options;
    this.downSince = clock.now();
    this.readySignal = new ChangeSignal(clock);
    const client = openClient(options.endpoint, safeOptions(commandTimeoutMs));
    this.client = client;
    client.on('ready', () => this.onConnected());
    client.on('close', () => this.onClose());
    client.on('error', options.onError);
    this.library = this.newLibrary();
    this.probe = new NodeProbe(client, {
      ...options,
      rights: prefix === undefined ? undefined : rightsFor(prefix, scripts, topology === 'cluster'),
      listener: {
        onReport: (report, sample) => {
          this.serverClock.take(sample);
          this.library?.setRights(report.mayUseLibrary);
          this.library?.check();
          guard?.onReport(report, sample);
        },
      },
      onIdentified: () => {
        this.readySignal.changed();
        options.onReady?.();
      },
      onChange: () => this.changed(),
    });
    this.confirmations = new ReplicaConfirmations({ ...options, onChange: () => this.changed() });
    const isRedirectable = topology !== undefined;
    this.commands = new CommandRunner(this, {
      clock,
      commandTimeoutMs,
      isRedirectable,
      byBucket: topology === 'cluster',
      onRedirect,
      nodeGuard: guard,
    });
  }

  get warnings(): readonly string[] {
    const { warnings } = this.probe;
    if (!this.hintsRefused && !this.confirmations.refused) return warnings;
    return [
      ...warnings,
      ...(this.hintsRefused ? [NO_HINTS] : []),
      ...(this.confirmations.refused ? [NO_CONFIRMATIONS] : []),
    ];
  }

  /** Whether this Redis lets this server subscribe to the hints of other servers. */
  setHints(allowed: boolean): void {
    if (this.hintsRefused === !allowed) return;
    this.hintsRefused = !allowed;
    this.changed();
  }

  get suitable(): boolean {
    return this.probe.suitable;
  }

  get reachable(): boolean {
    return this.probe.answering;
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  get isReady(): boolean {
    // ioredis still says `ready` for a moment after `close`.
    return !this.closed && this.client.status === 'ready' && this.probe.identified;
  }

  notAfterUs(deadline: number): number {
    return Math.floor(this.serverClock.timeAt(deadline) * 1000);
  }

  get wasMaster(): boolean {
    return this.probe.wasMaster;
  }

  get answering(): AnsweringNode {
    const { report } = this.probe;
    if (this.answeringNode?.report !== report) {
      this.answeringNode = new AnsweringNode(report, this.confirmations, this.options.commandTimeoutMs);
    }
    return this.answeringNode;
  }

  /** Until this time, operations wait for a connection that is down (ms, monotonic clock). */
  get patienceEnds(): number {
    return this.downSince + RECONNECT_PATIENCE_MS;
  }

  /** A sentence about rights of the Redis user without which calls fail. Undefined: the user has all, or is not known. */
  get missingRights(): string | undefined {
    return this.probe.report.missingRights;
  }

  /** Resolves when Redis answers for the first time. Rejects after `timeoutMs`, or if the Redis user lacks rights. */
  async ready(timeoutMs: number): Promise<void> {
    if (!(await this.readyBefore(this.options.clock.now() + timeoutMs))) {
      throw new StoreFailure('no', 'unavailable');
    }
    this.expectRights();
  }

  /** Throws if the Redis user lacks rights without which calls fail. */
  expectRights(): void {
    if (this.missingRights !== undefined) throw new NotPermitted(this.missingRights);
  }

  becomesReady(deadline: number): Promise<boolean> {
    return this.readyBefore(Math.min(deadline, this.patienceEnds));
  }

  reconnect(): void {
    if (this.client.status === 'ready') this.client.disconnect(true);
  }

  /** Probes the node now, in addition to the probe of each second. Rejects if Redis does not answer. */
  probeNode(): Promise<void> {
    return this.probe.probe();
  }

  /** Sends one of Redis's own commands about the node, once. Rejects immediately if the command cannot be sent. */
  ask(...[command, ...args]: [string, ...string[]]): Promise<unknown> {
    return this.client.call(command, args);
  }

  /** Tells the listeners that the health of this Redis has changed. */
  changed(): void {
    for (const listener of this.listeners) listener();
  }

  close(): void {
    this.closed = true;
    this.probe.close();
    this.confirmations.close();
    this.readySignal.close();
    this.downTimer?.cancel();
    this.client.disconnect();
  }

  private async readyBefore(deadline: number): Promise<boolean> {
    while (!this.isReady) {
      if (this.closed || !(await this.readySignal.before(deadline))) return false;
    }
    return true;
  }

  private onConnected(): void {
    this.connected = true;
    this.downTimer?.cancel();
    this.meter = this.options.meters?.of(this.nodeName());
    // The new connection may lead to another Redis. The probe reads its clock before any other command is sent.
    this.serverClock.forget();
    // Redis gets these commands before all others of the connection. If a script is missing later, its text is sent.
    this.library?.connected();
    this.loadScripts(({ operation }) => operation === undefined);
    this.probe.connected();
  }

  private loadScripts(isMeant: (script: Script) => boolean): void {
    const { scripts = [], onError } = this.options;
    for (const { text } of scripts.filter(isMeant)) this.client.script('LOAD', text).catch(onError);
  }

  private newLibrary(): LoadedLibrary | undefined {
    const { scripts = [], prefix = '', anyBucket = () => 0, clock, onError } = this.options;
    const text = scripts.find(({ operation }) => operation)?.operation?.library;
    if (text === undefined) return undefined;
    const onScripts = () => this.loadScripts(({ operation }) => operation !== undefined);
    return new LoadedLibrary({
      text,
      prefix,
      client: () => this.client,
      bucket: anyBucket,
      clock,
      onScripts,
      onError,
    });
  }

  private nodeName(): string {
    const named = nodeName(this.options.endpoint);
    if (named !== undefined) return named;
    // The sentinels have named the address, and may name another address for the next connection.
    const { remoteAddress, remotePort } = this.client.stream;
    return `${remoteAddress ?? 'unknown'}:${remotePort ?? ''}`;
  }

  /** Reports the loss only if the connection stays down, because commands wait for a connection that returns soon. */
  private onClose(): void {
    this.probe.disconnected();
    if (!this.connected) return; // another failed attempt
    this.connected = false;
    const { clock } = this.options;
    // No operation waits for a Redis that had stopped answering before the connection was lost.
    this.downSince = this.reachable ? clock.now() : clock.now() - RECONNECT_PATIENCE_MS;
    if (!this.closed) this.downTimer = clock.after(RECONNECT_PATIENCE_MS, () => this.probe.observe(false));
  }
}
