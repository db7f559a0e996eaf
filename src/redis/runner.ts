import type { Clock } from '../base/clock';
import { StoreFailure } from '../base/errors';
import {
  type CommandLink,
  type CommandOptions,
  type GuardChoice,
  type GuardedReply,
  isForOneNode,
  isGrant,
  isText,
  LOW,
  notDone,
  type Operation,
  type RawArgument,
  readGuardedReply,
  type RedirectedOperation,
  type Script,
  type Turn,
  UnreadableReply,
  type Verdict,
} from './commands';
import { failureClassOf, isReplyError, mayHaveRunAfter, redirectionOf } from './failure-class';
import type { AnsweringNode } from './node/confirmations';
import type { NodeReport } from './node/report';
import { CommandWindow } from './window';
import {
  commandBytes,
  CommandDeadlines,
  commandText,
  CommandWriter,
  type Flush,
  type OnOutcome,
  type RawReply,
  type Reply,
  ScriptCommand,
} from './writer';

/**
 * The pause before a retry after a failed epoch check, and while ioredis still reports a lost connection as ready (ms).
 */
const RETRY_PAUSE_MS = 10;

/** Decides when an operation that did nothing may be sent again over the same connection. */
class RetryTimes {
  constructor(
    private readonly link: CommandLink,
    private readonly clock: Clock,
  ) {}

  /** Resolves with true when the operation can be sent again, and with false if it cannot before its deadline. */
  async readyAgain(deadline: number): Promise<boolean> {
    // Wait, because commands in flight fail before the connection reports its loss.
    await Promise.resolve();
    // ioredis calls a connection ready until 'close', one turn of the event loop after the connection's end.
    if (this.link.isReady) await this.pause();
    return this.clock.now() < deadline && (await this.link.becomesReady(deadline));
  }

  /** The verdict of an epoch check. After a check that failed because of the store, the operation is sent again. */
  async verdictOf(check: Promise<Verdict>): Promise<Verdict> {
    try {
      return await check;
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      // The connection was lost, or the run of Redis changed.
      await this.pause();
      return { kind: 'again' };
    }
  }

  private pause(): Promise<void> {
    return new Promise((resolve) => this.clock.after(RETRY_PAUSE_MS, resolve));
  }
}

/** How stores run commands. In a Cluster the first key decides which node runs the command. */
export type Commands = Pick<
  CommandRunner,
  'run' | 'runGuarded' | 'runRaw' | 'runTimed' | 'query' | 'reportOf'
>;

/**
 * Runs scripts and commands over one connection. ioredis is set to queue nothing and to send nothing twice. This class
 * retries instead, within the time of the operation, because the scripts are idempotent.
 */
export class CommandRunner {
  private readonly window: CommandWindow;
  private readonly writer: CommandWriter;
  private readonly retryTimes: RetryTimes;

  constructor(
    private readonly link: CommandLink,
    private readonly options: CommandOptions,
  ) {
    const deadlines = new CommandDeadlines(options.clock);
    this.retryTimes = new RetryTimes(link, options.clock);
    this.window = new CommandWindow(options.clock, deadlines);
    this.writer = new CommandWriter(() => link.client, options.clock, deadlines);
  }

  get isReady(): boolean {
    return this.link.isReady;
  }

  /** The last report of the Redis that has the key. Undefined: that Redis is not known. */
  reportOf(_key: string): NodeReport | undefined {
    return this.link.answering.report;
  }

  /**
   * Runs an idempotent script, and sends the script again if the connection is lost. `read` gets the reply, and the
   * time when the answered command was sent (ms, monotonic clock), and the Redis that answered.
   */
  run<T>(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    read: (reply: Reply[], sentAt: number) => T | Promise<T>,
    turn: Turn = LOW,
  ): Promise<T> {
    const guard = undefined;
    return this.start({ turn, script, keys, args, bytes: undefined, isRaw: false, guard, read });
  }

  /** As `run`, for a guarded script. A script that did nothing because of an outdated epoch is also sent again. */
  runGuarded<T>(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    read: (reply: GuardedReply, sentAt: number, by: AnsweringNode) => T | Promise<T>,
    guard: GuardChoice,
    turn: Turn,
  ): Promise<T> {
    return this.start({ turn, script, keys, args, bytes: undefined, isRaw: false, guard, read });
  }

  /**
   * As `run`, for scripts with payloads: arguments may be bytes, and texts of the reply are bytes. With `once` the
   * script is not sent again if it may have run.
   */
  runRaw<T>(
    script: Script,
    keys: readonly string[],
    args: readonly RawArgument[],
    read: (reply: RawReply[], sentAt: number, by: AnsweringNode) => T | Promise<T>,
    once = false,
  ): Promise<T> {
    return this.startRaw(script, keys, args, read, { once });
  }

  /**
   * As `runRaw`. The script gets two more arguments each time when it is sent: `not_after`, a time by Redis's clock (us)
   * after which the script must do nothing, because its caller has got a failure; and 1 if an earlier send may have run,
   * else 0.
   */
  runTimed<T>(
    script: Script,
    keys: readonly string[],
    args: readonly RawArgument[],
    read: (reply: RawReply[], sentAt: number, by: AnsweringNode) => T | Promise<T>,
  ): Promise<T> {
    return this.startRaw(script, keys, args, read, { isTimed: true });
  }

  /** As `runRaw`, for a command of Redis that may run twice. A script would copy a long reply once more. */
  query<T>(
    command: string,
    args: readonly RawArgument[],
    read: (reply: RawReply[], sentAt: number, by: AnsweringNode) => T | Promise<T>,
  ): Promise<T> {
    return this.start({
      turn: LOW,
      script: { sha: command, text: command },
      keys: [String(args[0])],
      args: [],
      bytes: () => commandBytes([command, ...args]),
      isRaw: true,
      guard: undefined,
      read,
    });
  }

  /** Takes over an operation that another node redirected. `asking`: the slot is still moving to this node. */
  resume({ operation, mayHaveRun }: RedirectedOperation, asking: boolean): void {
    if (this.link.isReady) this.submit(operation, 'evalsha', mayHaveRun, asking);
    else this.retry(operation, mayHaveRun);
  }

  private startRaw<T>(
    script: Script,
    keys: readonly string[],
    args: readonly RawArgument[],
    read: Operation<T>['read'],
    options: { readonly once?: boolean; readonly isTimed?: boolean },
  ): Promise<T> {
    const common = { turn: LOW, script, keys, isRaw: true, guard: undefined, read, ...options };
    if (isText(args)) return this.start({ ...common, args, bytes: undefined });
    const bytes = (verb: 'eval' | 'evalsha', added: readonly number[]) =>
      commandBytes([
        verb,
        verb === 'eval' ? script.text : script.sha,
        keys.length,
        ...keys,
        ...args,
        ...added,
      ]);
    return this.start({ ...common, args: [], bytes });
  }

  private start<T>(
    wanted: Omit<Operation<T>, 'deadline' | 'resolve' | 'reject' | 'redirectCount' | 'once' | 'isTimed'> &
      Partial<Pick<Operation<T>, 'once' | 'isTimed'>>,
  ): Promise<T> {
    const deadline = this.options.clock.now() + this.options.commandTimeoutMs;
    return new Promise((resolve, reject) => {
      const operation = {
        once: false,
        isTimed: false,
        ...wanted,
        deadline,
        resolve,
        reject,
        redirectCount: 0,
      };
      this.sendOrRetry(operation, false);
    });
  }

  private sendOrRetry<T>(operation: Operation<T>, mayHaveRun: boolean): void {
    if (this.link.isReady) return this.submit(operation, 'evalsha', mayHaveRun);
    // No command is sent to a Redis that cannot be reached, so its failures are counted here.
    this.link.meter?.failed('not-written');
    this.retry(operation, mayHaveRun);
  }

  /** Sends the operation when the window has a place for it. */
  private submit<T>(
    operation: Operation<T>,
    verb: 'eval' | 'evalsha',
    mayHaveRun: boolean,
    asking = false,
  ): void {
    const { turn, deadline } = operation;
    if (this.window.tryEnter(turn.priority)) return this.send(operation, verb, mayHaveRun, asking);
    this.window.wait({
      turn,
      // The caller of an operation that may have run must learn the outcome.
      sheddable: turn.priority !== 'high' && !mayHaveRun,
      deadline,
      patientUntil: mayHaveRun ? 0 : (turn.patientUntil ?? 0),
      send: () => {
        if (this.link.isReady) {
          if (!mayHaveRun) this.renewTime(operation);
          return this.send(operation, verb, mayHaveRun, asking);
        }
        this.window.leave(turn.priority, undefined);
        this.retry(operation, mayHaveRun);
      },
      fail: (kind) => operation.reject(new StoreFailure(mayHaveRun ? 'unknown' : 'no', kind)),
    });
  }

  /** Restarts the time limit of an operation, because the wait for its turn does not count. */
  private renewTime<T>(operation: Operation<T>): void {
    const now = this.options.clock.now();
    if (now < (operation.turn.patientUntil ?? 0)) operation.deadline = now + this.options.commandTimeoutMs;
  }

  /** Sends an operation that has a place in the window. */
  private send<T>(
    operation: Operation<T>,
    verb: 'eval' | 'evalsha',
    mayHaveRun: boolean,
    asking: boolean,
  ): void {
    const { turn, script, keys, bytes, isRaw, deadline } = operation;
    const guard = operation.guard === 'of-node' ? this.options.nodeGuard : operation.guard;
    let { args } = operation;
    if (guard) {
      const epochArguments = guard.epochArguments(deadline, keys);
      if (!epochArguments) {
        this.window.leave(turn.priority, undefined);
        return operation.reject(notDone(mayHaveRun));
      }
      args = args.concat(epochArguments);
    }
    const added = operation.isTimed ? [this.link.notAfterUs(deadline), mayHaveRun ? 1 : 0] : [];
    const text = bytes
      ? bytes(verb, added)
      : commandText(verb, verb === 'eval' ? script.text : script.sha, keys, args.concat(added));
    const sentAt = this.options.clock.now();
    const { answering, meter } = this.link;
    const onOutcome: OnOutcome = (error, reply) => {
      meter?.ms.add(this.options.clock.now() - sentAt);
      if (error) {
        this.window.leave(turn.priority, isReplyError(error) ? {} : undefined);
        meter?.failed(failureClassOf(error));
        return this.onFailure(operation, error, mayHaveRun, asking);
      }
      if (operation.guard === undefined) {
        this.window.leave(turn.priority, {});
        return this.settle(operation, reply as Reply[], sentAt, answering);
      }
      const guarded = readGuardedReply(reply, sentAt, mayHaveRun);
      this.window.leave(turn.priority, { leftAt: flush.at, ranAt: guarded?.redisTimeMs });
      if (guarded === undefined) return operation.reject(new UnreadableReply(script.sha));
      const check = guard?.epochCheck(guarded, keys);
      if (!check) return this.settle(operation, guarded, sentAt, answering);
      const withoutGrants = { ...guarded, news: guarded.news.filter((one) => !isGrant(one)) };
      this.followVerdict(operation, check, mayHaveRun, () =>
        this.settle(operation, withoutGrants, sentAt, answering),
      );
    };
    const flush: Flush = this.writer.write(new ScriptCommand(verb, text, deadline, onOutcome, isRaw), asking);
  }

  private settle<T>(
    operation: Operation<T>,
    reply: GuardedReply | Reply[] | RawReply[],
    sentAt: number,
    answering: AnsweringNode,
  ): void {
    let answer: T | Promise<T>;
    try {
      answer = operation.read(reply as never, sentAt, answering);
    } catch (cause) {
      return operation.reject(
        cause instanceof StoreFailure ? cause : new UnreadableReply(operation.script.sha, { cause }),
      );
    }
    operation.resolve(answer);
  }

  private onFailure<T>(operation: Operation<T>, error: Error, ranBefore: boolean, asking: boolean): void {
    const failureClass = failureClassOf(error);
    const mayHaveRun = ranBefore || mayHaveRunAfter(failureClass);
    switch (failureClass) {
      case 'unknown-script':
        return this.submit(operation, 'eval', mayHaveRun, asking);
      case 'defect':
        return operation.reject(error);
      case 'not-written':
      case 'connection-lost':
        if (mayHaveRun && operation.once) return operation.reject(notDone(mayHaveRun));
        return this.retry(operation, mayHaveRun);
      case 'redirected':
        if (this.isRedirected(error)) return this.redirect(operation, error, mayHaveRun);
        break;
      case 'refused':
      case 'full':
      case 'timed-out':
      case 'stopped':
    }
    const kind = failureClass === 'full' ? 'full' : 'unavailable';
    operation.reject(new StoreFailure(mayHaveRun ? 'unknown' : 'no', kind, { cause: error }));
  }

  /** Also true for a single Redis that was a master and refuses writes: its address may now lead to a new master. */
  private isRedirected(error: Error): boolean {
    return this.options.isRedirectable || (redirectionOf(error)?.kind === 'read-only' && this.link.wasMaster);
  }

  private redirect<T>(operation: Operation<T>, error: Error, mayHaveRun: boolean): void {
    const { onRedirect } = this.options;
    if (onRedirect && isForOneNode(operation)) {
      return operation.reject(
        new StoreFailure(mayHaveRun ? 'unknown' : 'no', 'unavailable', { cause: error }),
      );
    }
    if (onRedirect) {
      const redirection = redirectionOf(error);
      return onRedirect({ operation: operation as Operation<unknown>, mayHaveRun, redirection, from: this });
    }
    this.link.reconnect();
    this.retry(operation, mayHaveRun);
  }

  private retry<T>(operation: Operation<T>, mayHaveRun: boolean): void {
    const { onRedirect } = this.options;
    if (onRedirect && !isForOneNode(operation)) {
      const redirected = { operation: operation as Operation<unknown>, mayHaveRun, redirection: undefined };
      // Deferred, because commands in flight fail before the connection reports its loss.
      return queueMicrotask(() => onRedirect({ ...redirected, from: this }));
    }
    this.retryTimes
      .readyAgain(operation.deadline)
      .then((ready) => {
        if (ready) this.submit(operation, 'evalsha', mayHaveRun);
        else operation.reject(notDone(mayHaveRun));
      })
      .catch(operation.reject);
  }

  /** The epoch check rejected the reply. The verdict of the check decides how the operation continues. */
  private followVerdict<T>(
    operation: Operation<T>,
    check: Promise<Verdict>,
    mayHaveRun: boolean,
    settleWithoutGrants: () => void,
  ): void {
    const { clock } = this.options;
    const { deadline, reject } = operation;
    const timer = clock.after(deadline - clock.now(), () => reject(notDone(mayHaveRun)));
    this.retryTimes
      .verdictOf(check)
      .finally(() => timer.cancel())
      .then((verdict) => {
        if (verdict.kind === 'in doubt') reject(new StoreFailure('unknown', 'quarantined'));
        else if (verdict.kind === 'without grants') settleWithoutGrants();
        else if (verdict.kind === 'quarantined') reject(notDone(mayHaveRun, 'quarantined', verdict.forMs));
        else if (clock.now() >= deadline) reject(notDone(mayHaveRun));
        else this.sendOrRetry(operation, mayHaveRun);
      })
      .catch(reject);
  }
}
