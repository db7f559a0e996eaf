import type { Redis } from 'ioredis';
import type { Clock } from '../base/clock';
import { StoreFailure } from '../base/errors';
import type { Priority } from '../flow/fair-queue';
import type { CommandMeter } from './command-meters';
import type { Redirection } from './failure-class';
import type { AnsweringNode } from './node/confirmations';
import type { LoadedLibrary } from './library';
import type { NodeReport } from './node/report';
import type { RawArgument, RawReply, Reply, Script } from './script';

/** The next step that a script asks of its server: none, touch the resource, or check the epochs of the node. */
export type FollowUp = 'none' | 'touch' | 'check-epochs';

/**
 * The reply of a guarded script. Every such reply begins with its word and a header (scripts/shared/reply.lua). No other file
 * reads them by position.
 */
export interface GuardedReply {
  /** The outcome, or the reason why the script did nothing. */
  readonly word: string;
  readonly followUp: FollowUp;
  /**
   * News of requests of this server, besides the answer to the command. Mostly empty. A text is the id of a request to
   * recheck; a list is a direct grant.
   */
  readonly news: readonly Reply[];
  /** Redis's time when the script ran (ms). */
  readonly redisTimeMs: number;
  /** How long grants still pause (ms); 0: they do not pause. */
  readonly pauseMs: number;
  /** The values after the header. The word decides their meaning. */
  readonly values: readonly Reply[];
  /** When the command of this reply was sent, by the monotonic clock (ms). */
  readonly sentAt: number;
  /** True: the command was sent before too, and the earlier reply with its news may be lost. */
  readonly isRepeated: boolean;
}

/** True for news that is a direct grant. */
export function isGrant(news: Reply): boolean {
  return Array.isArray(news);
}

const FOLLOW_UPS: Readonly<Record<string, FollowUp>> = { 1: 'touch', 2: 'check-epochs' };
const NO_NEWS: readonly Reply[] = [];

/**
 * Reads the word, the header and the values of a reply (redis/scripts/shared/reply.lua). Undefined: the reply has no header,
 * so no script of this version has answered.
 */
export function readGuardedReply(
  reply: unknown,
  sentAt: number,
  isRepeated = false,
): GuardedReply | undefined {
  if (!Array.isArray(reply) || reply.length < 2) return undefined;
  const [word, header, ...values] = reply as Reply[];
  const [followUp, news, timeUs, pauseUs] = Array.isArray(header) ? header : ['0', NO_NEWS, header, '0'];
  return {
    word: word as string,
    followUp: FOLLOW_UPS[followUp as string] ?? 'none',
    news: news as Reply[],
    redisTimeMs: Number(timeUs) / 1000,
    pauseMs: Number(pauseUs) / 1000,
    values,
    sentAt,
    isRepeated,
  };
}

/** Keeps a script from running on the wrong run of Redis, or too late. See docs/design/epochs.md. */
export interface EpochGuard {
  /**
   * Returns the epoch arguments of a script that is sent now over the present connection. With these arguments, the
   * script does nothing if it runs after `deadline`. Undefined: the script must not be sent over this connection.
   */
  epochArguments(deadline: number, keys: readonly string[]): readonly (string | number)[] | undefined;
  /**
   * Undefined: the reply counts. Otherwise the script did nothing or its outcome is in doubt, and the promise says how
   * the operation continues.
   */
  epochCheck(reply: GuardedReply, keys: readonly string[]): Promise<Verdict> | undefined;
}

/**
 * `in doubt`: the script granted, and should not have granted. `without grants`: only the script's grants to waiters are in
 * doubt, and must not be reported.
 */
export type Verdict =
  | { readonly kind: 'again' | 'in doubt' | 'without grants' }
  | { readonly kind: 'quarantined'; readonly forMs: number };

/** `of-node`: the guard of the node that receives the script. Any other guard binds the operation to one node. */
export type GuardChoice = EpochGuard | 'of-node';

/** Decides when an operation is sent if others wait too. Only an operation of high priority is never refused. */
export interface Turn {
  readonly priority: Priority;
  /** The operations of one caller wait behind each other. Undefined: the server's own work. */
  readonly caller?: object | undefined;
  /** The operation is refused if it cannot be sent before this time (ms, monotonic clock). */
  readonly sendBefore?: number | undefined;
  /**
   * An operation that was not sent may wait until this time while Redis answers other operations (ms, monotonic clock).
   * The time limit of the operation restarts when the operation is sent. Undefined: the wait counts for the time limit.
   */
  readonly patientUntil?: number | undefined;
}

export const HIGH: Turn = { priority: 'high' };
export const NORMAL: Turn = { priority: 'normal' };
export const LOW: Turn = { priority: 'low' };

/** `sentAt`: when the answered command was sent (ms, monotonic clock). `by`: the Redis that answered. */
type Read<Raw, T> = (reply: Raw, sentAt: number, by: AnsweringNode) => T | Promise<T>;

/** The first arguments of a server's operations: its id, and how long the keys of a resource stay (ms). */
export type ServerArguments = readonly [serverId: string, retentionMs: number];

interface ToSend {
  /**
   * An idempotent script; or a command of Redis that may run twice, and has its keys before its arguments. A script would
   * copy a long reply once more.
   */
  readonly run: Script | string;
  /** In a Cluster, the first key decides which node runs the command. */
  readonly keys: readonly string[];
  /** Of the operations of a library: what all operations of the server share, before the arguments of the guard. */
  readonly head?: ServerArguments | undefined;
  /** Default: LOW. */
  readonly turn?: Turn | undefined;
}

interface TextCommand<T> extends ToSend {
  readonly args: readonly (string | number)[];
  readonly read: Read<Reply[], T>;
  readonly guard?: undefined;
  readonly isRaw?: undefined;
}

/** A script with epoch arguments. It is also sent again if it did nothing because of an outdated epoch. */
interface GuardedCommand<T> extends ToSend {
  readonly args: readonly (string | number)[];
  readonly read: Read<GuardedReply, T>;
  readonly guard: GuardChoice;
  readonly isRaw?: undefined;
}

/** A command with payloads: texts of the reply stay bytes. */
export interface RawCommand<T> extends ToSend {
  readonly args: readonly RawArgument[];
  readonly read: Read<RawReply[], T>;
  readonly guard?: undefined;
  readonly isRaw: true;
}

export type Command<T> = TextCommand<T> | GuardedCommand<T> | RawCommand<T>;

/** How stores send commands. */
export interface Commands {
  /** Sends the command, and again if the connection is lost, within the time of one operation. */
  send<T>(command: Command<T>): Promise<T>;
  /** The last report of the Redis that has the key. Undefined: that Redis is not known. */
  reportOf(key: string): NodeReport | undefined;
}

/** A command until its answer, with all its sends. */
export interface Operation<T> {
  readonly command: Command<T>;
  /** Moves when an operation is sent before the `patientUntil` of its turn. */
  deadline: number;
  readonly resolve: (answer: T | Promise<T>) => void;
  readonly reject: (error: unknown) => void;
  /** How many nodes have redirected the operation. */
  redirectCount: number;
}

/** The reply of a script could not be read. This is a defect, and another try would not help. */
export class UnreadableReply extends Error {
  override readonly name = 'UnreadableReply';
}

/** True for an operation with a node's own guard: no other node may carry out the operation. */
export function isForOneNode({ command }: Pick<Operation<unknown>, 'command'>): boolean {
  return typeof command.guard === 'object';
}

/** The last send of an operation did nothing. An earlier send may have done something if its reply was lost. */
export function notDone(
  mayHaveRun: boolean,
  kind: 'unavailable' | 'quarantined' = 'unavailable',
  forMs?: number,
): StoreFailure {
  return new StoreFailure(mayHaveRun ? 'unknown' : 'no', kind, { retryAfterMs: forMs });
}

/** The part of a connection that commands need. */
export interface CommandLink {
  readonly client: Redis;
  /** True if a command can be sent now. */
  readonly isReady: boolean;
  /** True if the last probe found that this Redis is a master. */
  readonly wasMaster: boolean;
  /** The Redis that answers the commands that are sent now. */
  readonly answering: AnsweringNode;
  /** Undefined: operations run by their scripts. */
  readonly library?: LoadedLibrary | undefined;
  /** Counts the commands to the present Redis. Undefined: nobody counts. */
  readonly meter?: CommandMeter | undefined;
  /** The latest Redis time that certainly precedes `deadline` (us). `deadline` is in ms of the monotonic clock. */
  notAfterUs(deadline: number): number;
  /** Resolves with true when commands can be sent; with false at the deadline, or once operations no longer wait. */
  becomesReady(deadline: number): Promise<boolean>;
  /** Closes the present connection and opens a new connection. */
  reconnect(): void;
}

export interface CommandOptions {
  /** How long one store operation may take, with all its retries (ms). A renewal or a withdrawal may also wait for its turn. */
  readonly commandTimeoutMs: number;
  readonly clock: Clock;
  /** True for a node of a Cluster and for a master behind sentinels: a redirected command is retried. */
  readonly isRedirectable: boolean;
  /** True for a node of a Cluster: a command is about one bucket. Default: false. */
  readonly byBucket?: boolean;
  /** Takes over operations that this node redirected or did not answer. Default: they are sent to this node again. */
  readonly onRedirect?: ((redirected: RedirectedOperation) => void) | undefined;
  readonly nodeGuard?: EpochGuard | undefined;
}

/** An operation that a node of a Cluster did not carry out, or may not have carried out. */
export interface RedirectedOperation {
  readonly operation: Operation<unknown>;
  /** True if an earlier send may have run. */
  readonly mayHaveRun: boolean;
  /** The node's redirection to another node. Undefined: the node did not answer. */
  readonly redirection: Redirection | undefined;
  readonly from: { readonly isReady: boolean };
}
