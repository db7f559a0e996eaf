import { LockServiceService, type Lock } from '../../generated/typescript/holdfast/v1/lock_service';
import type { CallChannel } from './calls/call-channel';
import { CALL, WATCH, type CallOptions, type WatchOptions } from './calls/call-options';
import { Iteration } from './calls/iteration';
import { watch } from './calls/watch';
import type { LeaderLease } from './lease-types';
import { metadataMap, type Metadata } from './leases/metadata';
import { checkedIfGiven, checkedOptions } from './known-options';
import { ACQUIRE, type AcquireOptions } from './leases/options';
import { optionsAndBody, runUnderLease } from './leases/run-under-lease';
import type { Lease } from './sessions/lease';
import { checkedMetadata, checkedText } from './texts';

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
  /** The lease for a caller who releases it. */
  handle<Held extends Lease>(lease: Held): Held;
}

type ShownLease = Lease & Pick<LeaderLease, 'updateValue'>;
type LeaderBody<T> = (lease: LeaderLease) => Promise<T> | T;

/** An election. The type has public members only, so a test can pass a plain object. */
export type Election = Pick<ElectionClient, keyof ElectionClient>;

/** An election: the holder of the lock with this name is the leader. All methods reject with a HoldfastError. */
export class ElectionClient {
  /** @internal */
  constructor(
    readonly name: string,
    private readonly candidates: Candidates,
    private readonly channel: CallChannel,
  ) {
    checkedText('name', name);
  }

  /**
   * Waits until this process is the leader. `release()` of the lease resigns. The lease has the value as its metadata entry
   * `value`, so the caller's metadata has no such entry.
   */
  async campaign(value: string, options: AcquireOptions = {}): Promise<LeaderLease> {
    return this.candidates.handle(await this.win(value, options));
  }

  /** Waits until this process is the leader, runs `body`, and resigns. Rejects with a LeaseLostError on a loss. */
  lead<T>(value: string, body: LeaderBody<T>): Promise<T>;
  lead<T>(value: string, options: AcquireOptions, body: LeaderBody<T>): Promise<T>;
  async lead<T>(value: string, second: AcquireOptions | LeaderBody<T>, third?: LeaderBody<T>): Promise<T> {
    const [options, body] = optionsAndBody<AcquireOptions, LeaderBody<T>>(second, third);
    const lease = await this.win(value, options);
    return runUnderLease(lease, () => body(lease));
  }

  /** The present leader. Undefined: there is none. */
  async leader(options?: CallOptions): Promise<Leader | undefined> {
    checkedIfGiven(options, CALL);
    const { lock } = await this.channel.unary(LockServiceService.getLock, { name: this.name }, options);
    return leaderOf(lock);
  }

  /**
   * The leader at once, and after each change. Undefined while there is none. Ends when `signal` aborts. Rejects with a
   * ClosedError when the client is closed.
   */
  observe(options: WatchOptions = {}): AsyncGenerator<Leader | undefined, void, undefined> {
    checkedOptions(options, WATCH);
    return new Iteration(options.signal, (ends) => this.leaders(ends));
  }

  private async *leaders(signal: AbortSignal): AsyncGenerator<Leader | undefined, void, undefined> {
    let isFirst = true;
    let last: Leader | undefined;
    const request = { name: this.name };
    for await (const { lock } of watch(this.channel, LockServiceService.watchLock, request, { signal })) {
      const leader = leaderOf(lock);
      const isSame = leader?.fencingToken === last?.fencingToken && leader?.value === last?.value;
      if (isSame && !isFirst) continue;
      isFirst = false;
      last = leader;
      yield leader;
    }
  }

  private async win(value: string, options: AcquireOptions): Promise<ShownLease> {
    const entries = metadataMap(checkedOptions(options, ACQUIRE).metadata ?? {});
    const shown = { ...options, metadata: withValue(entries, value) };
    return showing(await this.candidates.lock(this.name, shown));
  }
}

function withValue(entries: ReadonlyMap<string, string>, value: string): ReadonlyMap<string, string> {
  return new Map([...entries, [VALUE, value]]);
}

/** An update replaces all metadata of a lease, so each update has the value too. */
function showing(lease: Lease): ShownLease {
  return Object.assign(lease, {
    updateMetadata: async (metadata: Metadata): Promise<void> => {
      const entries = checkedMetadata(metadataMap(metadata));
      await lease.changeMetadata((shown) => withValue(entries, shown.get(VALUE) ?? ''));
    },
    updateValue: async (value: string) => {
      checkedText('value', value);
      await lease.changeMetadata((shown) => withValue(shown, value));
    },
  });
}

function leaderOf(lock: Lock | undefined): Leader | undefined {
  const holder = lock?.holders[0];
  if (holder === undefined) return undefined;
  const { metadata, fencingToken, holderId } = holder;
  return { value: metadata.get(VALUE) ?? '', fencingToken, holderId };
}
