import type { Redis } from 'ioredis';
import type { Clock } from '../../engine/clock';
import type { Redirection } from './failure-class';
import type { EpochGuard, Operation } from './operation';

/** The connection, as far as commands need it. */
export interface CommandLink {
  readonly client: Redis;
  /** A command that is sent now leaves at once. */
  readonly isReady: boolean;
  /** The last probe found a master. */
  readonly wasMaster: boolean;
  /** Resolves with false if the connection stays down until the deadline, or for too long. */
  becomesReady(deadline: number): Promise<boolean>;
  /** Redis has answered a command. */
  answered(): void;
  /** Gives up the present connection for a new one. */
  reconnect(): void;
}

export interface CommandOptions {
  /** How long one store operation may take, with all its retries (ms). */
  readonly commandTimeoutMs: number;
  readonly clock: Clock;
  /** One of several nodes, or a master that may be replaced: a redirection is retried. */
  readonly isRedirectable: boolean;
  /** Takes over operations that this node redirected or did not answer. Default: they wait for this node. */
  readonly onRedirect?: ((redirected: RedirectedOperation) => void) | undefined;
  /** The guard of this node. */
  readonly nodeGuard?: EpochGuard | undefined;
}

/** An operation that a node of a Cluster did not carry out, or may not have carried out. */
export interface RedirectedOperation {
  readonly operation: Operation<unknown>;
  /** An earlier send may have run. */
  readonly mayHaveRun: boolean;
  /** Undefined: the node did not answer. */
  readonly redirection: Redirection | undefined;
  readonly from: { readonly isReady: boolean };
}
