import { LockServiceService, type Lock } from '../../generated/typescript/holdfast/v1/lock_service';
import type { CallChannel } from './calls/call-channel';
import { watch } from './calls/watch';
import { metadataMap } from './leases/metadata';
import type { AcquireOptions } from './leases/options';
import { runUnderLease, type Body } from './leases/run-under-lease';
import type { Lease } from './sessions/lease';

/** The metadata entry of the lease that has the leader's value. */
const VALUE = 'value';

export interface Leader {
  /** The text that the leader has given, for example its address. */
  readonly value: string;
  /** Rises with each leader. */
  readonly fencingToken: bigint;
  readonly holderId: string;
}

/** What an election needs of the client. */
export interface Candidates {
  lock(name: string, options: AcquireOptions): Promise<Lease>;
}

/** An election: the holder of the lock with this name is the leader. All methods reject with a HoldfastError. */
export class Election {
  constructor(
    readonly name: string,
    private readonly candidates: Candidates,
    private readonly channel: CallChannel,
  ) {}

  /** Waits until this process is the leader. `release()` of the lease resigns. */
  campaign(value: string, options: AcquireOptions = {}): Promise<Lease> {
    const metadata = new Map([...metadataMap(options.metadata ?? {}), [VALUE, value]]);
    return this.candidates.lock(this.name, { ...options, metadata });
  }

  /** Waits until this process is the leader, runs `body`, and resigns. Rejects with a LeaseLostError on a loss. */
  async lead<T>(value: string, options: AcquireOptions, body: Body<T>): Promise<T> {
    return runUnderLease(await this.campaign(value, options), body);
  }

  /** The present leader. Undefined: there is none. */
  async leader(): Promise<Leader | undefined> {
    const { lock } = await this.channel.unary(LockServiceService.getLock, { name: this.name });
    return leaderOf(lock);
  }

  /** The leader at once, and after each change. Undefined while there is none. Ends when `signal` aborts. */
  async *observe(signal?: AbortSignal): AsyncGenerator<Leader | undefined, void, undefined> {
    let isFirst = true;
    let last: Leader | undefined;
    for await (const { lock } of watch(
      this.channel,
      LockServiceService.watchLock,
      { name: this.name },
      signal,
    )) {
      const leader = leaderOf(lock);
      const isSame = leader?.fencingToken === last?.fencingToken && leader?.value === last?.value;
      if (isSame && !isFirst) continue;
      isFirst = false;
      last = leader;
      yield leader;
    }
  }
}

function leaderOf(lock: Lock | undefined): Leader | undefined {
  const holder = lock?.holders[0];
  if (holder === undefined) return undefined;
  const { metadata, fencingToken, holderId } = holder;
  return { value: metadata.get(VALUE) ?? '', fencingToken, holderId };
}
