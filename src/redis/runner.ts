import { StoreFailure } from '../base/errors';
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
  type ServerArguments,
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
import { BatchedOperation, LATER, type SharedArguments } from './batch';
import {
  encoded,
  type LibraryOperation,
  nameOf,
  type OnOutcome,
  type RawReply,
  type Reply,
  type Script,
} from './script';
import { CommandWindow } from './window';
import { CommandDeadlines, RetryTimes } from './deadlines';
import { CommandWriter, type Flush, ScriptCommand } from './writer';

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
    this.writer = new CommandWriter(() => link.client, options.clock, deadlines, {
      byBucket: options.byBucket ?? false,
      onShared: (count) => {
        if (link.meter) link.meter.sharedCount += count;
      },
    });
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
    const epochArguments = guard ? guard.epochArguments(deadline, keys) : command.head ? NO_GUARD : [];
    if (!epochArguments) {
      this.window.leave(turn.priority, undefined);
      return operation.reject(notDone(mayHaveRun));
    }
    const { answering, meter, library } = this.link;
    const called = verb === 'evalsha' && typeof run === 'object' ? library?.functionFor(run) : undefined;
    const sentAt = this.options.clock.now();
    const onOutcome: OnOutcome = (error, reply) => {
      if ((reply as unknown) === LATER) return this.sendLater(operation, mayHaveRun, asking);
      meter?.ms.add(this.options.clock.now() - sentAt);
      if (error) {
        this.window.leave(turn.priority, isReplyError(error) ? {} : undefined);
        meter?.failed(failureClassOf(error));
        return this.onFailure(operation, error, sending);
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
    const isFunction = called !== undefined;
    const sending: Sending = { mayHaveRun, asking, isFunction, sentAt, epochArguments, onOutcome };
    const flush = isFunction
      ? this.writeOperation(operation, called, sending)
      : this.writeScript(operation, verb, sending);
  }

  /** Redis has done nothing for an operation, because other operations of its command took the time. */
  private sendLater<T>(operation: Operation<T>, mayHaveRun: boolean, asking: boolean): void {
    this.window.leave((operation.command.turn ?? LOW).priority, {});
    if (this.options.clock.now() >= operation.deadline) return operation.reject(notDone(mayHaveRun));
    this.submit(operation, 'evalsha', mayHaveRun, asking);
  }

  private writeScript<T>(operation: Operation<T>, verb: 'eval' | 'evalsha', sending: Sending): Flush {
    const { command, deadline } = operation;
    const { run, head = [], isRaw = false } = command;
    const { mayHaveRun, asking, epochArguments, onOutcome } = sending;
    const isTimed = typeof run === 'object' && run.isTimed;
    const text = encoded(verb, command, [
      ...head,
      ...epochArguments,
      ...command.args,
      ...(isTimed ? [this.link.notAfterUs(deadline), mayHaveRun ? 1 : 0] : []),
    ]);
    // Operations of a library may have been collected before this one.
    if (command.head) this.writer.flush();
    return this.writer.write(new ScriptCommand(verb, text, deadline, onOutcome, isRaw), asking);
  }

  private writeOperation<T>(operation: Operation<T>, functionName: string, sending: Sending): Flush {
    const { command, deadline } = operation;
    const { run, keys, head, args } = command;
    const { mayHaveRun, asking, sentAt, epochArguments, onOutcome } = sending;
    const part = new BatchedOperation({
      functionName,
      operation: (run as Script).operation as LibraryOperation,
      keys,
      shared: [...(head as ServerArguments), ...epochArguments] as unknown as SharedArguments,
      args: args as readonly (string | number)[],
      deadline,
      isLate: deadline - sentAt < this.options.commandTimeoutMs / 2,
      onOutcome,
    });
    if (mayHaveRun || asking) return this.writer.writeAlone(part, asking);
    return this.writer.writeTogether(part);
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

/** In place of the arguments of a guard, for an operation without one. */
const NO_GUARD = ['', 0] as const;

/** How the last command of an operation was sent. */
interface Sent {
  /** True: an earlier command of the operation may have run. */
  readonly mayHaveRun: boolean;
  readonly asking: boolean;
  /** True: the command called a function of a library. */
  readonly isFunction: boolean;
}

/** What a command of an operation is sent with. */
interface Sending extends Sent {
  readonly sentAt: number;
  readonly epochArguments: readonly (string | number)[];
  readonly onOutcome: OnOutcome;
}
