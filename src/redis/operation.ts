import { createHash } from 'node:crypto';
import { StoreFailure } from '../base/errors';
import type { AnsweringNode } from './node/answering-node';
import type { Priority } from '../flow/priority';
import type { GuardedReply } from './guarded-reply';

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

export interface Script {
  readonly sha: string;
  readonly text: string;
}

export function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** An argument of a command. Bytes are sent unchanged. */
export type RawArgument = string | number | Uint8Array;

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

export interface Operation<T> {
  readonly turn: Turn;
  readonly script: Script;
  /** The keys of the script. For a command of Redis: its first argument. */
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
  /** Makes the bytes to send, with `added` as the last arguments. Undefined: all arguments are text. */
  readonly bytes: ((verb: 'eval' | 'evalsha', added: readonly number[]) => Buffer) | undefined;
  /** True: the script gets the two arguments of `runTimed`. */
  readonly isTimed: boolean;
  /** True: texts of the reply stay bytes. */
  readonly isRaw: boolean;
  /** True: the operation is not sent again after a send that may have run. */
  readonly once: boolean;
  readonly guard: GuardChoice | undefined;
  readonly read: (reply: never, sentAt: number, by: AnsweringNode) => T | Promise<T>;
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
export function isForOneNode({ guard }: Pick<Operation<unknown>, 'guard'>): boolean {
  return typeof guard === 'object';
}

export function isText(args: readonly RawArgument[]): args is readonly (string | number)[] {
  return args.every((arg) => typeof arg !== 'object');
}

/** The last send of an operation did nothing. An earlier send may have done something if its reply was lost. */
export function notDone(
  mayHaveRun: boolean,
  kind: 'unavailable' | 'quarantined' = 'unavailable',
  forMs?: number,
): StoreFailure {
  return new StoreFailure(mayHaveRun ? 'unknown' : 'no', kind, { retryAfterMs: forMs });
}
