import type { Clock } from '../base/clock';
import { StoreFailure } from '../base/errors';
import { pause } from '../flow/waiting';
import {
  type Command,
  type CommandLink,
  type CommandOptions,
  type Commands,
  type GuardedReply,
  isForOneNode,
  isGrant,
  LOW,
  notDone,
  type Operation,
  readGuardedReply,
  type RedirectedOperation,
  UnreadableReply,
  type Verdict,
} from './commands';
import {
  failureClassOf,
  isNotPermitted,
  isReplyError,
  mayHaveRunAfter,
  redirectionOf,
} from './failure-class';
import type { AnsweringNode } from './node/confirmations';
import type { NodeReport } from './node/report';
import { encoded, functionCall, nameOf, type RawArgument } from './script';
import { CommandWindow } from './window';
import {
  CommandDeadlines,
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
    if (this.link.isReady) await pause(this.clock, RETRY_PAUSE_MS);
    return this.clock.now() < deadline && (await this.link.becomesReady(deadline));
  }

  /** The verdict of an epoch check. After a check that failed because of the store, the operation is sent again. */
  async verdictOf(check: Promise<Verdict>): Promise<Verdict> {
    try {
      return await check;
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      // The connection was lost, or the run of Redis changed.
      await pause(this.clock, RETRY_PAUSE_MS);
      return { kind: 'again' };
    }
  }
}

/**
 * Runs scripts and commands over one connection. ioredis is set to queue nothing and to send nothing twice. This class
 * retries instead, within the time of the operation, because the scripts are idempotent.
 */
export class CommandRunner implements Commands {
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

  reportOf(_key: string): NodeReport | undefined {
    return this.link.answering.report;
  }

  send<T>(command: Command<T>): Promise<T> {
    const deadline = this.options.clock.now() + this.options.commandTimeoutMs;
    return new Promise((resolve, reject) => {
      this.sendOrRetry({ command, deadline, resolve, reject, redirectCount: 0 }, false);
    });
  }

  /** Takes over an operation that another node redirected. `asking`: the slot is still moving to this node. */
  resume({ operation, mayHaveRun }: RedirectedOperation, asking: boolean): void {
    if (this.link.isReady) this.submit(operation, 'evalsha', mayHaveRun, asking);
    else this.retry(operation, mayHaveRun);
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
    const { command, deadline } = operation;
    const { turn = LOW } = command;
    if (this.window.tryEnter(turn.priority)) return this.write(operation, verb, mayHaveRun, asking);
    this.window.wait({
      turn,
      // The caller of an operation that may have run must learn the outcome.
      sheddable: turn.priority !== 'high' && !mayHaveRun,
      deadline,
      patientUntil: mayHaveRun ? 0 : (turn.patientUntil ?? 0),
      send: () => {
        if (this.link.isReady) {
          if (!mayHaveRun) this.renewTime(operation);
          return this.write(operation, verb, mayHaveRun, asking);
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
    if (now < (operation.command.turn?.patientUntil ?? 0))
      operation.deadline = now + this.options.commandTimeoutMs;
  }

  /** Writes an operation that has a place in the window. */
  private write<T>(
    operation: Operation<T>,
    verb: 'eval' | 'evalsha',
    mayHaveRun: boolean,
    asking: boolean,
  ): void {
    const { command, deadline } = operation;
    const { run, keys, turn = LOW } = command;
    const guard = command.guard === 'of-node' ? this.options.nodeGuard : command.guard;
    let { args }: { args: readonly RawArgument[] } = command;
    const { head = [] } = command;
    if (guard) {
      const epochArguments = guard.epochArguments(deadline, keys);
      if (!epochArguments) {
        this.window.leave(turn.priority, undefined);
        return operation.reject(notDone(mayHaveRun));
      }
      args = [...head, ...epochArguments, ...args];
    } else if (typeof run === 'object' && run.isTimed) {
      args = args.concat([this.link.notAfterUs(deadline), mayHaveRun ? 1 : 0]);
    } else if (head.length > 0) {
      args = [...head, ...args];
    }
    const { answering, meter, library } = this.link;
    const called = verb === 'evalsha' && typeof run === 'object' ? library?.functionFor(run) : undefined;
    const text = called === undefined ? encoded(verb, command, args) : functionCall(called, command, args);
    const sentAt = this.options.clock.now();
    const onOutcome: OnOutcome = (failure, replies) => {
      meter?.ms.add(this.options.clock.now() - sentAt);
      const reply = called === undefined ? replies : (replies?.[0] as Reply[] | Error | undefined);
      const error = reply instanceof Error ? reply : failure;
      if (error) {
        this.window.leave(turn.priority, isReplyError(error) ? {} : undefined);
        meter?.failed(failureClassOf(error));
        return this.onFailure(operation, error, { mayHaveRun, asking, isFunction: called !== undefined });
      }
      if (command.guard === undefined) {
        this.window.leave(turn.priority, {});
        return this.settle(operation, reply as Reply[], sentAt, answering);
      }
      const guarded = readGuardedReply(reply, sentAt, mayHaveRun);
      this.window.leave(turn.priority, { leftAt: flush.at, ranAt: guarded?.redisTimeMs });
      if (guarded === undefined) return operation.reject(new UnreadableReply(nameOf(command)));
      const check = guard?.epochCheck(guarded, keys);
      if (!check) return this.settle(operation, guarded, sentAt, answering);
      const withoutGrants = { ...guarded, news: guarded.news.filter((one) => !isGrant(one)) };
      this.followVerdict(operation, check, mayHaveRun, () =>
        this.settle(operation, withoutGrants, sentAt, answering),
      );
    };
    const isRaw = command.isRaw ?? false;
    const name = called === undefined ? verb : 'fcall';
    const flush: Flush = this.writer.write(new ScriptCommand(name, text, deadline, onOutcome, isRaw), asking);
  }

  private settle<T>(
    operation: Operation<T>,
    reply: GuardedReply | Reply[] | RawReply[],
    sentAt: number,
    answering: AnsweringNode,
  ): void {
    let answer: T | Promise<T>;
    try {
      answer = operation.command.read(reply as never, sentAt, answering);
    } catch (cause) {
      return operation.reject(
        cause instanceof StoreFailure ? cause : new UnreadableReply(nameOf(operation.command), { cause }),
      );
    }
    operation.resolve(answer);
  }

  private onFailure<T>(operation: Operation<T>, error: Error, sent: Sent): void {
    const { asking } = sent;
    const failureClass = failureClassOf(error);
    const mayHaveRun = sent.mayHaveRun || mayHaveRunAfter(failureClass);
    switch (failureClass) {
      case 'unknown-script':
        if (sent.isFunction) this.link.library?.lost();
        return this.submit(operation, 'eval', mayHaveRun, asking);
      case 'defect':
        return operation.reject(error);
      case 'not-written':
      case 'connection-lost':
        return this.retry(operation, mayHaveRun);
      case 'redirected':
        if (this.isRedirected(error)) return this.redirect(operation, error, mayHaveRun);
        break;
      case 'refused':
        if (!sent.isFunction || !isNotPermitted(error)) break;
        this.link.library?.refuse();
        return this.submit(operation, 'evalsha', mayHaveRun, asking);
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

/** How the last command of an operation was sent. */
interface Sent {
  /** True: an earlier command of the operation may have run. */
  readonly mayHaveRun: boolean;
  readonly asking: boolean;
  /** True: the command called a function of a library. */
  readonly isFunction: boolean;
}
