import { createHash } from 'node:crypto';
import { StoreFailure } from '../../engine/errors';
import type { Reply } from './script-command';

/** What a script's last arguments and the first words of its reply are for, where it must not run anywhere, at any time. */
export interface EpochGuard {
  /**
   * Arguments that hold for the connection that is there now, and for a command that is waited for until `deadline`;
   * undefined: it must not be sent through this one.
   */
  epochArguments(deadline: number, keys: readonly string[]): readonly (string | number)[] | undefined;
  /**
   * Undefined: nothing is said against the reply. Else it did nothing, or is in doubt, and the promise tells what to do
   * once it resolves.
   */
  epochCheck(reply: readonly Reply[], keys: readonly string[], sentAt: number): Promise<Verdict> | undefined;
}

/** In doubt: it was carried out, and should not have been. */
export type Verdict =
  { readonly kind: 'again' | 'in doubt' } | { readonly kind: 'quarantined'; readonly forMs: number };

/** 'of-node': the guard of whichever node it is sent to. Another one is of one node, and the operation is for that alone. */
export type GuardChoice = EpochGuard | 'of-node';

export interface Script {
  readonly sha: string;
  readonly text: string;
}

export function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** An argument of which bytes are sent as they are. */
export type RawArgument = string | number | Uint8Array;

export interface Operation<T> {
  readonly what: Script;
  /** Of a command that is no script: its first argument. */
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
  /** Set where not all arguments are text: the bytes to send. */
  readonly bytes: ((verb: 'eval' | 'evalsha') => Buffer) | undefined;
  /** The reply is read as it comes. */
  readonly raw: boolean;
  /** It is not sent again once it may have run. */
  readonly once: boolean;
  readonly guard: GuardChoice | undefined;
  readonly read: (reply: never[], sentAt: number) => T | Promise<T>;
  readonly deadline: number;
  readonly resolve: (answer: T | Promise<T>) => void;
  readonly reject: (error: unknown) => void;
  /** How many nodes have turned it away. */
  turns: number;
}

/** A reply that could not be read: our mistake, and nothing that another try would mend. */
export class UnreadableReply extends Error {
  override readonly name = 'UnreadableReply';
}

/** What is about a node itself is nothing to another one. */
export function isForOneNode({ guard }: Pick<Operation<unknown>, 'guard'>): boolean {
  return typeof guard === 'object';
}

export function isText(args: readonly RawArgument[]): args is readonly (string | number)[] {
  return args.every((arg) => typeof arg !== 'object');
}

export function notDone(
  writtenBefore: boolean,
  kind: 'unavailable' | 'quarantined' = 'unavailable',
  forMs?: number,
) {
  return new StoreFailure(writtenBefore ? 'unknown' : 'no', kind, { retryAfterMs: forMs });
}
