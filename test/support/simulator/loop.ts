import type { LockMode, Micros } from '../history';

/** The mutations of the simulated service and its clients, each with its wrong behaviour. */
export const MUTATIONS = {
  no_owner_compare: 'a release with an ended lease frees the current holder of the name',
  resend_without_idempotence: 'a repeated request counts as a new request',
  pubsub_only_wake_up: 'a server ignores offers in the replies to its touches',
  no_liveness_check: 'waiters of dead clients and dead servers are offered permits',
  renew_resurrects: 'a renewal of an ended lease recreates the lease',
  counter_only_token: 'the fencing token is a counter without the time',
  deadline_from_receipt: 'a client counts the offset from the receipt of the answer',
  permit_leaked_on_cancel: 'the permits of an offer stay taken after its waiter cancels',
  lifo: 'the newest waiter is granted first',
  swallowed_lost: 'a stream stays open without LOST after its lease has ended',
  double_grant_on_reconnect: 'a repeated request that already holds a lease gets another lease',
  lowered_limit_ignored: 'the lowering of a limit has no effect',
  offer_kept_when_lowered: 'an offer stays valid after the limit is lowered',
  weights_not_counted: 'every lease counts as one permit',
  small_overtakes_head: 'a waiter that fits is granted before the head of the queue',
  reader_beside_writer: 'a shared request is granted beside an exclusive holder',
  writer_beside_readers: 'an exclusive request is granted beside shared holders',
  renewal_shortens: 'a renewal may set an earlier end',
  stale_stream_releases: 'a broken stream releases its lease, even after another stream attached to it',
  late_from_buffer: 'a grant waits in a buffer, and its offset counts from the end of that wait',
  dead_from_buffer: 'a grant waits in a buffer until after its deadline, and is delivered then',
  newcomer_passes_after_stall: 'waiters count as dead directly after a stall of the store',
  offset_from_pubsub: 'the offset of a grant counts from the arrival of the pub/sub message',
  failed_renewal_is_loss: 'an unanswered renewal is reported as LOST',
  slow_expiry: 'a server notices the end of a lease seconds later',
  stream_kept: 'a server keeps ended streams in memory',
  finished_grants_again: 'an ended request id is not remembered',
} as const;

export type Mutation = keyof typeof MUTATIONS;

/** Tells whether a mutation is active. */
export type IsBroken = (mutation: Mutation) => boolean;

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

interface Entry {
  readonly at: Micros;
  readonly order: number;
  readonly run: () => void;
}

/** A manual clock with timers. Time passes only from timer to timer, so every run of a plan is the same. */
export class ManualLoop {
  now: Micros;
  private readonly heap: Entry[] = [];
  private order = 0;

  constructor(start: Micros) {
    this.now = start;
  }

  at(time: Micros, run: () => void): void {
    this.order += 1;
    this.push({ at: Math.max(time, this.now), order: this.order, run });
  }

  after(delay: Micros, run: () => void): void {
    this.at(this.now + delay, run);
  }

  runUntil(end: Micros): void {
    for (let next = this.heap[0]; next !== undefined && next.at <= end; next = this.heap[0]) {
      this.pop();
      this.now = next.at;
      next.run();
    }
    this.now = end;
  }

  private push(entry: Entry): void {
    let index = this.heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.swapIfBefore(index, parent)) break;
      index = parent;
    }
  }

  private pop(): void {
    const last = this.heap.pop();
    if (last === undefined || this.heap.length === 0) return;
    this.heap[0] = last;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const right = left + 1;
      const child = right < this.heap.length && this.isBefore(right, left) ? right : left;
      if (child >= this.heap.length || !this.swapIfBefore(child, index)) break;
      index = child;
    }
  }

  private isBefore(a: number, b: number): boolean {
    const first = this.heap[a];
    const second = this.heap[b];
    if (first === undefined || second === undefined) return false;
    return first.at !== second.at ? first.at < second.at : first.order < second.order;
  }

  private swapIfBefore(a: number, b: number): boolean {
    if (!this.isBefore(a, b)) return false;
    const first = this.heap[a];
    const second = this.heap[b];
    if (first === undefined || second === undefined) return false;
    this.heap[a] = second;
    this.heap[b] = first;
    return true;
  }
}

/**
 * A process that can be paused and killed. Messages to a paused process wait. Messages to a killed process are lost.
 */
export class SimProcess {
  alive = true;
  private stopped = false;
  private readonly backlog: (() => void)[] = [];

  constructor(
    readonly name: string,
    protected readonly loop: ManualLoop,
  ) {}

  /** Runs the handler of a message or of a timer. */
  run(work: () => void): void {
    if (!this.alive) return;
    if (this.stopped) this.backlog.push(work);
    else work();
  }

  after(delay: Micros, work: () => void): void {
    this.loop.after(delay, () => this.run(work));
  }

  stop(): void {
    this.stopped = true;
  }

  continue(): void {
    this.stopped = false;
    while (this.alive && !this.stopped) {
      const work = this.backlog.shift();
      if (work === undefined) return;
      work();
    }
  }

  kill(): void {
    this.alive = false;
    this.backlog.length = 0;
  }
}
