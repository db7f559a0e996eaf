import type { Redis } from 'ioredis';
import type { Clock } from '../base/clock';
import type { AnsweringNode } from './node/answering-node';
import type { CommandMeter } from './command-meters';
import type { Redirection } from './failure-class';
import type { EpochGuard, Operation } from './operation';

/** The part of a connection that commands need. */
export interface CommandLink {
  readonly client: Redis;
  /** True if a command can be sent now. */
  readonly isReady: boolean;
  /** True if the last probe found that this Redis is a master. */
  readonly wasMaster: boolean;
  /** The Redis that answers the commands that are sent now. */
  readonly answering: AnsweringNode;
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
