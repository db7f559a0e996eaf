import type { LockMode, Micros } from '../history';

/** One request of one client, from the acquire to the end of the work. */
export interface Job {
  readonly client: string;
  readonly name: string;
  readonly rpc: 'acquire' | 'hold';
  readonly mode: LockMode;
  readonly permits: number;
  readonly ttlUs: Micros;
  /** The time limit of the wait. Null for no limit, and 0 for a request that tries once. */
  readonly waitTimeoutUs: Micros | null;
  readonly startUs: Micros;
  /** The duration of the work after the grant. */
  readonly workUs: Micros;
  /** The interval of unary renewals during the work. Null for no renewals. */
  readonly renewEveryUs: Micros | null;
  readonly renewTtlUs?: Micros;
  /** The client's action after the work. */
  readonly end: 'release' | 'abandon';
  /** The time at which a client without a grant cancels. */
  readonly cancelAfterUs: Micros | null;
  /** True if the client renews and releases even after its deadline. */
  readonly ignoresDeadline?: boolean;
  /** The time after which the client sends its request again with the same id. */
  readonly repeatAfterUs?: Micros;
}

/** A fault, a change of a limit, or an observation of the store. */
export type Step = { readonly at: Micros } & (
  | { readonly do: 'kill_client' | 'cut_client'; readonly client: string; readonly noticedAfterUs?: Micros }
  | { readonly do: 'stop_client'; readonly client: string; readonly forUs: Micros }
  | { readonly do: 'kill_server'; readonly server: number }
  | { readonly do: 'stop_server'; readonly server: number; readonly forUs: Micros }
  | { readonly do: 'stall_store'; readonly forUs: Micros }
  | { readonly do: 'flush_store' }
  | { readonly do: 'drop_replies' | 'drop_messages'; readonly count: number }
  | { readonly do: 'delay_messages'; readonly byUs: Micros }
  | { readonly do: 'set_limit'; readonly name: string; readonly limit: number }
  | { readonly do: 'observe'; readonly name: string }
);

export interface Plan {
  readonly seed: number;
  readonly servers: number;
  /** Names with a limit are semaphores. All other names are locks. */
  readonly limits: Readonly<Record<string, number>>;
  readonly jobs: readonly Job[];
  readonly steps: readonly Step[];
  /** The time at which all clients stop. The residue is observed after the last lease has expired. */
  readonly untilUs: Micros;
}
