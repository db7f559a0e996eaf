import type { Clock } from '../../base/clock';
import { reportDefect, StoreFailure } from '../../base/errors';
import type { Quarantine, QuarantineCause } from '../../base/store-state';
import { SharedRuns } from '../../flow/rerun';
import type { RedisConnection } from '../connection';
import { type EpochGuard, type GuardedReply, isGrant, type Verdict } from '../commands';
import type { ProbeListener } from '../node/probe';
import type { NodeReport } from '../node/report';
import { type ClockSample, StoreTime } from '../node/server-clock';
import { EPOCH_AT, epochKey } from '../buckets';
import {
  ALL_BUCKETS,
  type Bounds,
  EpochWatch,
  forEachGroup,
  isElsewhere,
  isMoved,
  type NodeBuckets,
  wasNotDone,
  worstOf,
} from './epoch-buckets';
import { type Adopted, again, type EndedPause, EpochScripts, longestOf } from './scripts';
import { KnownRun } from './known-run';

export interface EpochsOptions {
  readonly prefix: string;
  /** How long grants pause when this node may have forgotten leases (ms). No client believes in a lease for longer. */
  readonly quarantineMs: number;
  /** The operator asserts that a bucket without an epoch was never used. Valid for the start only. */
  readonly storeIsNew: boolean;
  /** The buckets of this node, if the node is part of a Cluster. Default: all buckets. */
  readonly nodeBuckets?: NodeBuckets;
  readonly clock: Clock;
  readonly onError: (error: Error) => void;
}

/**
 * Prevents grants on a Redis node that may have forgotten leases, for as long as clients may believe in those leases.
 * Every granting script gets two epoch arguments: the epoch that its bucket must have, and a time after which the script
 * must do nothing. This class makes these arguments, adopts the epochs of a new run of Redis, and detects that Redis's
 * clock was set. Each node has one instance. See docs/design/epochs.md.
 */
export class Epochs implements ProbeListener, EpochGuard {
  /** The version of the leases' layout in the store, if it differs from the layout of this server. */
  otherLayout: number | undefined;
  private readonly run: KnownRun;
  private readonly time = new StoreTime();
  private readonly scripts: EpochScripts;
  private readonly watch: EpochWatch;
  private readonly nodeBuckets: NodeBuckets;
  /** True if some epochs are not adopted yet. */
  private isDue = true;
  /** The text of an epoch that is in force and does not pause. */
  private expectedEpoch = '';
  private bounds: Bounds;
  private pause: { readonly endsAt: number; readonly cause: QuarantineCause } | undefined;
  /** A running adoption may have passed the epoch of a caller already, so another adoption follows. */
  private readonly adoptions = new SharedRuns(() => this.adoptAll());
  /** By key of an epoch that was moving to another node: a clock step (us) found then. The epoch may yet stay here. */
  private readonly leaving = new Map<string, number>();
  /** Adoptions of single buckets under way, by key. */
  private readonly arriving = new Map<string, Promise<void>>();

  constructor(
    private readonly options: EpochsOptions,
    private readonly connection: () => RedisConnection,
  ) {
    this.run = new KnownRun(options.storeIsNew);
    this.bounds = { longestMs: options.quarantineMs, durability: 'a', overlapMs: 0 };
    this.nodeBuckets = options.nodeBuckets ?? ALL_BUCKETS;
    const { nodeBuckets } = this;
    const onDoubt = () => this.adoptInBackground();
    this.watch = new EpochWatch({ prefix: options.prefix, nodeBuckets, connection, onDoubt });
    this.scripts = new EpochScripts({
      quarantineMs: options.quarantineMs,
      nodeBuckets,
      clock: options.clock,
      connection,
      run: this.run,
      time: this.time,
      bounds: () => this.bounds,
      onOtherLayout: (layout) => {
        // Each report of the node starts a new adoption, which succeeds when the operator has deleted the epochs.
        this.isDue = true;
        this.run.mayBeNew = false;
        this.setOtherLayout(layout);
      },
    });
  }

  /** The earliest time that Redis's clock may show now (ms). */
  get redisTimeMs(): number {
    return this.time.at(this.options.clock.now());
  }

  get runId(): string | undefined {
    return this.run.id;
  }

  /** When all epochs of this node were first known to belong to its run (ms, monotonic clock); Infinity: not yet. */
  get settledSince(): number {
    return this.run.settledSince;
  }

  /** True if the last report of the node is recent enough for grants. */
  get isCurrent(): boolean {
    return this.run.isCurrent(this.options.clock.now());
  }

  get quarantine(): Quarantine | undefined {
    const remainingMs = this.pause ? this.pause.endsAt - this.options.clock.now() : 0;
    return this.pause && remainingMs > 0 ? { remainingMs, cause: this.pause.cause } : undefined;
  }

  onReport(report: NodeReport, sample: ClockSample): void {
    const change = this.run.update(report, sample);
    if (change === 'new run') {
      this.isDue = true;
      this.leaving.clear();
      const { durable, overlapMs } = this.run;
      this.setBounds({ ...this.bounds, durability: durable ? 'a' : 'w', overlapMs });
    }
    if (this.run.id === undefined) return;
    this.takeTime(sample);
    if (change === 'weaker' || this.pause) this.isDue = true;
    if (this.isDue) this.adoptInBackground();
    else this.watch.check();
    if (this.leaving.size > 0) this.adoptLeaving().catch((error: unknown) => this.onFailed(error));
  }

  epochArguments(deadline: number, keys: readonly string[]): readonly (string | number)[] | undefined {
    if (this.run.id === undefined || this.otherLayout !== undefined) return undefined;
    const mayGrant = this.time.setForwardUs === 0 && this.isCurrent && !this.isLeaving(keys);
    return [this.expectedEpoch, mayGrant ? this.time.notAfterUs(deadline) : 0];
  }

  epochCheck(reply: GuardedReply, keys: readonly string[]): Promise<Verdict> | undefined {
    if (reply.word === 'GRANTED' || reply.news.some(isGrant)) {
      const { redisTimeMs: time, sentAt } = reply;
      this.takeTime({ time, sentAt, receivedAt: this.options.clock.now() });
      // Redis's clock was set forward. A grant of this script may have ended a lease early, and the holder of that lease
      // may still believe in the lease.
      if (this.time.setForwardUs > 0) {
        if (!this.adoptions.isNextDue) this.adoptInBackground();
        return Promise.resolve({ kind: reply.word === 'GRANTED' ? 'in doubt' : 'without grants' });
      }
    }
    switch (reply.word) {
      case 'EPOCH':
      case 'LAYOUT':
        return this.adoptFor(keys).then(again);
      case 'STALE':
        return this.checkClock().then(again);
      case 'QUARANTINED':
        this.learnOfPause();
        return Promise.resolve({ kind: 'quarantined', forMs: reply.pauseMs });
    }
    if (reply.followUp === 'check-epochs') this.learnOfPause();
    return undefined;
  }

  /** Resolves when every epoch of the node belongs to the present run of Redis, and `quarantine` is up to date. */
  adopt(): Promise<void> {
    this.isDue = true;
    return this.adoptions.begunAfterNow();
  }

  /** Adopts buckets that another node has moved here; one command can name all of them. */
  adoptArrived(buckets: readonly number[]): Promise<void> {
    return this.adoptSome(buckets.map((bucket) => epochKey(this.options.prefix, bucket)));
  }

  /** Ends the quarantine on the operator's request. Returns the time that remained. */
  async end(): Promise<Quarantine | undefined> {
    await this.adopt();
    const { runId } = this.scripts.facts();
    const end = (keys: readonly string[]) => this.scripts.end(keys, runId);
    let ended: readonly EndedPause[];
    try {
      ended = await forEachGroup(this.nodeBuckets, this.options.prefix, end);
      await this.adopt();
    } catch (cause) {
      // Some pauses may have ended.
      throw new StoreFailure('unknown', 'unavailable', { cause });
    }
    // One run has written all epochs, so a replica with the last epochs has all.
    await ended.at(-1)?.confirm();
    return longestOf(ended);
  }

  private setOtherLayout(layout: number | undefined): void {
    if (layout === this.otherLayout) return;
    this.otherLayout = layout;
    this.connection().changed();
  }

  private isLeaving(keys: readonly string[]): boolean {
    return this.leaving.size > 0 && this.leaving.has(keys[EPOCH_AT] ?? '');
  }

  private takeTime(sample: ClockSample): void {
    if (this.time.take(sample, this.bounds.longestMs)) this.isDue = true;
  }

  /**
   * In a Cluster, a bucket that arrives from another node has an epoch of that node, and only this bucket is adopted.
   * If the bucket has moved again meanwhile, Redis redirects the retried command.
   */
  private adoptFor(keys: readonly string[]): Promise<void> {
    const key = keys[EPOCH_AT];
    if (!this.options.nodeBuckets || this.isDue || key === undefined) return this.adopt();
    let adoption = this.arriving.get(key);
    if (!adoption) {
      adoption = this.adoptSome([key])
        .catch((error: unknown) => {
          if (!wasNotDone(error) || error.kind !== 'unavailable') throw error;
        })
        .finally(() => this.arriving.delete(key));
      this.arriving.set(key, adoption);
    }
    return adoption;
  }

  private async adoptSome(keys: readonly string[]): Promise<void> {
    const adopted = await this.scripts.adopt(keys, this.scripts.facts());
    this.setBounds(worstOf(this.bounds, adopted));
    const endsAt = this.options.clock.now() + adopted.pauseMs;
    if (adopted.pauseMs === 0 || endsAt <= (this.pause?.endsAt ?? 0)) return;
    this.pause = { endsAt, cause: adopted.cause };
    this.connection().changed();
  }

  private async adoptAll(): Promise<void> {
    const facts = this.scripts.facts();
    const { durable, overlapMs } = this.run;
    // A node without buckets has only the facts of its run.
    let total: Bounds & Partial<Adopted> = {
      longestMs: this.options.quarantineMs,
      durability: durable ? 'a' : 'w',
      overlapMs,
    };
    const onLeaving = (keys: readonly string[]) => {
      for (const key of facts.setForwardUs > 0 ? keys : []) this.leaving.set(key, facts.setForwardUs);
    };
    const adopt = (keys: readonly string[]) => this.scripts.adopt(keys, facts);
    for (const part of await forEachGroup(this.nodeBuckets, this.options.prefix, adopt, onLeaving)) {
      const isLonger = part.pauseMs > (total.pauseMs ?? 0);
      total = { ...(isLonger ? part : total), ...worstOf(total, part) };
    }
    if (this.run.id !== facts.runId) throw new StoreFailure('no', 'unavailable');
    this.onAllAdopted(total, facts.setForwardUs);
  }

  private onAllAdopted(adopted: Bounds & Partial<Adopted>, setForwardUs: number): void {
    const { pauseMs = 0, cause } = adopted;
    const now = this.options.clock.now();
    const isFirst = this.run.settledSince === Infinity;
    this.run.settle(now);
    this.setOtherLayout(undefined);
    if (this.time.setForwardUs === setForwardUs) this.time.setForwardUs = 0;
    this.isDue = this.time.setForwardUs > 0 || this.adoptions.isNextDue;
    this.setBounds(adopted);
    const before = this.pause;
    this.pause = pauseMs > 0 && cause ? { endsAt: now + pauseMs, cause } : undefined;
    if (before?.cause !== this.pause?.cause) this.connection().changed();
    if (isFirst) this.nodeBuckets.onSettled?.();
  }

  /** Adopts the epochs that were moving when the clock was set forward, unless their slots have moved away by now. */
  private async adoptLeaving(): Promise<void> {
    for (const [key, setForwardUs] of [...this.leaving]) {
      const isDone = await this.scripts.adopt([key], { ...this.scripts.facts(), setForwardUs }).then(
        (adopted) => {
          this.setBounds(worstOf(this.bounds, adopted));
          return true;
        },
        (error: unknown) => {
          if (isElsewhere(error)) return isMoved(error);
          throw error;
        },
      );
      if (isDone) this.leaving.delete(key);
    }
  }

  private setBounds({ longestMs, durability, overlapMs }: Bounds): void {
    this.bounds = { longestMs, durability, overlapMs };
    this.expectedEpoch = `${this.run.id ?? ''} ${durability} ${longestMs} ${overlapMs}`;
  }

  /** A command ran too late: either Redis's clock was set forward, or the command was slow and is sent again. */
  private checkClock(): Promise<void> {
    return this.scripts.probe().then(() => (this.time.setForwardUs > 0 ? this.adopt() : undefined));
  }

  /** A script has found a pause, which this server may not know yet. */
  private learnOfPause(): void {
    if (!this.pause && !this.adoptions.isNextDue) this.adoptInBackground();
  }

  private adoptInBackground(): void {
    this.adopt().catch((error: unknown) => this.onFailed(error));
  }

  /** After a failure, the next report of the node starts the adoption again. */
  private onFailed(error: unknown): void {
    reportDefect(error, (defect) => this.options.onError(defect as Error));
  }
}
