import type { Redis } from 'ioredis';
import { type Clock, type Timer } from '../../engine/clock';
import { StoreFailure } from '../../engine/errors';
import type { Endpoint } from '../address';
import { ChangeSignal } from './change-signal';
import { openClient, safeOptions } from './client';
import { Deadlines } from './command-deadlines';
import { failureClassOf, isReplyError } from './failure-class';
import type { Topology } from './node-report';
import {
  isForOneNode,
  isText,
  notDone,
  UnreadableReply,
  type EpochGuard,
  type GuardChoice,
  type Operation,
  type RawArgument,
  type Script,
  type Verdict,
} from './operation';
import { NodeProbe, type Witness } from './node-probe';
import {
  commandBytes,
  commandText,
  ScriptCommand,
  type OnOutcome,
  type RawReply,
  type Reply,
} from './script-command';

export interface ConnectionOptions {
  /** `redis://[user:password@]host:port[/db]`, `rediss://…`, the path of a unix socket, or what ioredis is told. */
  readonly url: Endpoint;
  /** What this Redis is a part of; default: of nothing. */
  readonly topology?: Topology;
  /** No lease is believed for longer (ms). */
  readonly quarantineMs?: number;
  /** How long one store operation may take, retries after a broken connection included (ms). */
  readonly commandTimeoutMs: number;
  /** Loaded into each Redis that is connected to, so that a crowd that comes back does not bring them one by one. */
  readonly scripts?: readonly Script[];
  readonly clock: Clock;
  readonly onError: (error: Error) => void;
  /** Takes over what this node did not answer or turned away. Without it that waits until this one is back. */
  readonly onRedirect?: (stray: RedirectedOperation) => void;
  /** Called whenever commands can be sent (again). */
  readonly onReady?: () => void;
  /** Hears what the Redis says of itself that is connected to, and guards what is to be guarded by its node. */
  readonly witness?: Witness & EpochGuard;
}

/** An operation that a node of several did not carry out, or may not have: another one may have to. */
export interface RedirectedOperation {
  readonly operation: Operation<unknown>;
  /** It may have been carried out before. */
  readonly written: boolean;
  /** Redis's word, if it turned this away before the first line: MOVED, ASK, CLUSTERDOWN, ... */
  readonly word: string | undefined;
  readonly from: RedisConnection;
}

/** What the stores carry their steps out through. The first key says where, if there are several nodes. */
export type Commands = Pick<RedisConnection, 'run' | 'runRaw' | 'query'>;

export const NO_HINTS =
  'this Redis user may not subscribe to channels: a hand-over between servers takes up to a second; allow &PREFIX:*';
/** Nobody waits longer than this for a connection that is down: it is better to say so. */
const RECONNECT_PATIENCE_MS = 1000;
/** Before a command is tried again on a connection that is called ready and took nothing. */
const UNWRITABLE_PAUSE_MS = 10;

const ASKING = commandBytes(['ASKING']).toString();

/**
 * One connection to Redis for commands, with ioredis's dangerous defaults off: nothing is queued while it is
 * down, and nothing is sent again by the library. `run` does that itself where it is safe, within the time
 * of the one operation, for the scripts are idempotent.
 */
export class RedisConnection {
  private hintsRefused = false;
  private readonly client: Redis;
  private readonly probe: NodeProbe;
  private readonly listeners: (() => void)[] = [];
  /** What operations wait for: that commands can be sent again. */
  private readonly comeback: ChangeSignal;
  private connected = false;
  private downSince: number;
  private downTimer: Timer | undefined;
  private closed = false;
  private corked: Redis['stream'] | undefined;
  private readonly deadlines: Deadlines;

  constructor(private readonly options: ConnectionOptions) {
    this.downSince = options.clock.now();
    this.comeback = new ChangeSignal(options.clock);
    this.deadlines = new Deadlines(options.clock);
    this.client = openClient(options.url, safeOptions(options.commandTimeoutMs));
    this.client.on('ready', () => {
      this.connected = true;
      this.downTimer?.cancel();
      // Ahead of every command, on the same connection. One that finds no script all the same brings it along.
      for (const { text } of options.scripts ?? []) this.client.script('LOAD', text).catch(options.onError);
      this.probe.connected();
    });
    this.client.on('close', () => this.onClose());
    this.client.on('error', options.onError);
    this.probe = new NodeProbe(this.client, {
      ...options,
      onIdentified: () => {
        this.comeback.changed();
        options.onReady?.();
      },
      onChange: () => this.changed(),
    });
  }

  get warnings(): readonly string[] {
    const { warnings } = this.probe;
    return this.hintsRefused ? [...warnings, NO_HINTS] : warnings;
  }

  /** Whether this Redis lets us hear of what other servers do. */
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

  /** Whether a command that is sent now leaves at once. */
  get isReady(): boolean {
    return this.client.status === 'ready' && this.probe.identified;
  }

  /** Until when it is worth waiting for a connection that is down. */
  get patienceEnds(): number {
    return this.downSince + RECONNECT_PATIENCE_MS;
  }

  /** Resolves when Redis answers for the first time, or rejects after `timeoutMs`. */
  async ready(timeoutMs: number): Promise<void> {
    if (!(await this.readyBefore(this.options.clock.now() + timeoutMs))) {
      throw new StoreFailure('no', 'unavailable');
    }
  }

  /** Has the witness hear now of what it hears of each second; rejects if Redis does not answer. */
  probeNode(): Promise<void> {
    return this.probe.probe();
  }

  /** What is known of this Redis has changed. */
  changed(): void {
    for (const listener of this.listeners) listener();
  }

  /**
   * Runs a script once, as far as anybody can tell: sent again only when the connection broke, by which the
   * script's own idempotence holds. Resolves with what `read` makes of the reply; its `sentAt` is taken before
   * the send whose reply this is. A guarded script is sent again too when it says that it did nothing.
   */
  run<T>(
    what: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    read: (reply: Reply[], sentAt: number) => T | Promise<T>,
    guard?: GuardChoice,
  ): Promise<T> {
    return this.operate({ what, keys, args, bytes: undefined, raw: false, once: false, guard, read });
  }

  /**
   * As `run`, for scripts that take or answer payloads: arguments may be bytes, the reply is as it came. With `once` it
   * is not sent again when the connection breaks, for a script that counts.
   */
  runRaw<T>(
    what: Script,
    keys: readonly string[],
    args: readonly RawArgument[],
    read: (reply: RawReply[], sentAt: number) => T | Promise<T>,
    once = false,
  ): Promise<T> {
    if (isText(args))
      return this.operate({ what, keys, args, bytes: undefined, raw: true, once, guard: undefined, read });
    const bytes = (verb: 'eval' | 'evalsha') =>
      commandBytes([verb, verb === 'eval' ? what.text : what.sha, keys.length, ...keys, ...args]);
    return this.operate({ what, keys, args: [], bytes, raw: true, once, guard: undefined, read });
  }

  /**
   * As `runRaw`, for one command of Redis's own that may run twice: of a long list a script would copy all several
   * times.
   */
  query<T>(
    command: string,
    args: readonly RawArgument[],
    read: (reply: RawReply[], sentAt: number) => T | Promise<T>,
  ): Promise<T> {
    return this.operate({
      what: { sha: command, text: command },
      keys: [String(args[0])],
      args: [],
      bytes: () => commandBytes([command, ...args]),
      raw: true,
      once: false,
      guard: undefined,
      read,
    });
  }

  /** One of Redis's own commands about the node itself, once; rejects at once if it cannot be sent. */
  ask(...[command, ...args]: [string, ...string[]]): Promise<unknown> {
    return this.client.call(command, args);
  }

  /** Carries on what another node turned away; after an ASK, ahead of its slot's arrival here. */
  carryOn({ operation, written }: RedirectedOperation, asking: boolean): void {
    if (this.isReady) this.send(operation, 'evalsha', written, asking);
    else this.retry(operation, written);
  }

  private operate<T>(wanted: Omit<Operation<T>, 'deadline' | 'resolve' | 'reject' | 'turns'>): Promise<T> {
    const deadline = this.options.clock.now() + this.options.commandTimeoutMs;
    return new Promise((resolve, reject) => {
      const operation: Operation<T> = { ...wanted, deadline, resolve, reject, turns: 0 };
      this.go(operation, false);
    });
  }

  private go<T>(operation: Operation<T>, writtenBefore: boolean): void {
    if (this.isReady) this.send(operation, 'evalsha', writtenBefore);
    else this.retry(operation, writtenBefore);
  }

  private recover<T>(operation: Operation<T>, error: unknown, writtenBefore: boolean, asking: boolean): void {
    if (isReplyError(error) && error.message.startsWith('NOSCRIPT')) {
      return this.send(operation, 'eval', writtenBefore, asking);
    }
    const fate = failureClassOf(error);
    if (fate === 'defect') return operation.reject(error);
    if (fate === 'turned-away' && (this.options.topology !== undefined || this.isDemoted(error as Error))) {
      return this.turnAway(operation, (error as Error).message, writtenBefore);
    }
    if (fate !== 'not-written' && fate !== 'cut') {
      const unknown = writtenBefore || fate === 'timed-out';
      return operation.reject(
        new StoreFailure(unknown ? 'unknown' : 'no', fate === 'full' ? 'full' : 'unavailable', {
          cause: error,
        }),
      );
    }
    const written = writtenBefore || fate === 'cut';
    if (written && operation.once) return operation.reject(new StoreFailure('unknown', 'unavailable'));
    this.retry(operation, written);
  }

  /** Certainly not carried out here. A master that is one no longer is left for the one that is. */
  private turnAway<T>(operation: Operation<T>, word: string, written: boolean): void {
    const { onRedirect } = this.options;
    if (onRedirect && isForOneNode(operation)) {
      const cause = new Error(word);
      return operation.reject(new StoreFailure(written ? 'unknown' : 'no', 'unavailable', { cause }));
    }
    if (onRedirect)
      return onRedirect({ operation: operation as Operation<unknown>, written, word, from: this });
    if (this.client.status === 'ready') this.client.disconnect(true);
    this.retry(operation, written);
  }

  /** It was a master when it was asked last: behind its address there may be another one by now. */
  private isDemoted(error: Error): boolean {
    return error.message.startsWith('READONLY') && this.probe.wasMaster;
  }

  private retry<T>(operation: Operation<T>, written: boolean): void {
    const { onRedirect } = this.options;
    if (onRedirect && !isForOneNode(operation)) {
      const stray = { operation: operation as Operation<unknown>, written, word: undefined, from: this };
      // What was on the way fails before 'close' tells since when the connection is down.
      return queueMicrotask(() => onRedirect(stray));
    }
    this.readyAgain(operation.deadline)
      .then((ready) => {
        if (ready) this.send(operation, 'evalsha', written);
        else operation.reject(new StoreFailure(written ? 'unknown' : 'no', 'unavailable'));
      })
      .catch(operation.reject);
  }

  private async readyAgain(deadline: number): Promise<boolean> {
    // What was on the way fails before 'close' tells since when the connection is down.
    await Promise.resolve();
    // A connection that has just ended is called ready until its 'close' comes, which needs the event loop.
    if (this.isReady) await this.pause(UNWRITABLE_PAUSE_MS);
    return this.options.clock.now() < deadline && (await this.becomesReady(deadline));
  }

  private send<T>(
    operation: Operation<T>,
    verb: 'eval' | 'evalsha',
    writtenBefore: boolean,
    asking = false,
  ): void {
    const { what, keys, bytes, raw, read, deadline } = operation;
    const guard = operation.guard === 'of-node' ? this.options.witness : operation.guard;
    let { args } = operation;
    if (guard) {
      const epochArguments = guard.epochArguments(deadline, keys);
      if (!epochArguments) return operation.reject(notDone(writtenBefore));
      args = args.concat(epochArguments);
    }
    const text = bytes ? bytes(verb) : commandText(verb, verb === 'eval' ? what.text : what.sha, keys, args);
    const sentAt = this.options.clock.now();
    const onOutcome: OnOutcome = (error, reply) => {
      if (error) return this.recover(operation, error, writtenBefore, asking);
      this.probe.heard();
      const objection = guard?.epochCheck(reply as Reply[], keys, sentAt);
      if (objection) return this.turnBack(operation, objection, writtenBefore);
      let answer: T | Promise<T>;
      try {
        answer = read(reply as never[], sentAt);
      } catch (cause) {
        return operation.reject(
          cause instanceof StoreFailure ? cause : new UnreadableReply(what.sha, { cause }),
        );
      }
      operation.resolve(answer);
    };
    const command = new ScriptCommand(verb, text, deadline, onOutcome, raw);
    this.cork();
    if (asking) this.sendAsking(deadline);
    this.deadlines.keep(command);
    void this.client.sendCommand(command.asCommand());
  }

  /** It counts for the very next command of this connection. If it fails, that is turned away. */
  private sendAsking(deadline: number): void {
    const asking = new ScriptCommand('asking', ASKING, deadline, () => undefined, false);
    this.deadlines.keep(asking);
    void this.client.sendCommand(asking.asCommand());
  }

  /** The script has done nothing; an earlier try of it, whose reply was lost, may have. */
  private turnBack<T>(operation: Operation<T>, objection: Promise<Verdict>, writtenBefore: boolean): void {
    const { clock } = this.options;
    const { deadline, reject } = operation;
    const timer = clock.after(deadline - clock.now(), () => reject(notDone(writtenBefore)));
    objection
      .then(
        (verdict) => {
          timer.cancel();
          if (verdict.kind === 'in doubt') reject(new StoreFailure('unknown', 'quarantined'));
          else if (verdict.kind === 'quarantined')
            reject(notDone(writtenBefore, 'quarantined', verdict.forMs));
          else if (clock.now() >= deadline) reject(notDone(writtenBefore));
          else this.go(operation, writtenBefore);
        },
        (cause: unknown) => {
          timer.cancel();
          reject(cause instanceof StoreFailure ? notDone(writtenBefore) : cause);
        },
      )
      .catch(reject);
  }

  /** What is sent while the event loop goes round once leaves in one write. */
  private cork(): void {
    const { stream } = this.client;
    if (this.corked === stream) return;
    this.corked = stream;
    stream.cork();
    setImmediate(() => {
      if (this.corked === stream) this.corked = undefined;
      stream.uncork();
    });
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.options.clock.after(ms, resolve));
  }

  /** True once the connection can be used; false when it stays down past the deadline or our patience. */
  private becomesReady(deadline: number): Promise<boolean> {
    return this.readyBefore(Math.min(deadline, this.downSince + RECONNECT_PATIENCE_MS));
  }

  private async readyBefore(deadline: number): Promise<boolean> {
    while (!this.isReady) {
      if (this.closed || !(await this.comeback.before(deadline))) return false;
    }
    return true;
  }

  /** A connection that is back at once was not worth a word: commands have waited for it. */
  private onClose(): void {
    this.probe.lost();
    if (!this.connected) return; // one more attempt that failed
    this.connected = false;
    const { clock } = this.options;
    // Nobody waits for a Redis that had stopped answering before.
    this.downSince = this.reachable ? clock.now() : clock.now() - RECONNECT_PATIENCE_MS;
    if (!this.closed) this.downTimer = clock.after(RECONNECT_PATIENCE_MS, () => this.probe.observe(false));
  }

  close(): void {
    this.closed = true;
    this.probe.close();
    this.comeback.close();
    this.downTimer?.cancel();
    this.client.disconnect();
  }
}
