import { epochAdopt, epochEnd } from '../../../generated/redis/scripts';
import type { Clock } from '../../engine/clock';
import { reportDefect, StoreFailure } from '../../engine/errors';
import type { Quarantine, QuarantineCause } from '../../engine/store-health';
import type { RedisConnection } from '../connection/connection';
import {
  eachOf,
  isElsewhere,
  isMoved,
  LATE,
  readSweep,
  wasNotDone,
  ALL_BUCKETS,
  worst,
  type Bounds,
  type NodeBuckets,
  type Sweep,
} from './epoch-buckets';
import { script, type EpochGuard, type Verdict } from '../connection/operation';
import { hasTakenOver, type NodeReport } from '../connection/node-report';
import { EPOCH_AT, epochKey } from '../keys';
import type { Reply } from '../connection/script-command';
import type { Witness } from '../connection/node-probe';
import { ServerClock, type ClockSample } from '../connection/server-clock';

const scripts = { adopt: script(epochAdopt), end: script(epochEnd) };
export const epochScripts = Object.values(scripts);

/** Redis's uptime is between two clocks that show whole seconds, so it is a second more or less than it says. */
const UPTIME_SLACK_MS = 2000;
/**
 * Three looks. What a Redis said longer ago need not be so any more, on a connection that lasts too: another one may have
 * been master in between, while this process was stopped.
 */
const KNOWN_FOR_MS = 3000;
/** A command that was late is sent again so often, with what is known by then. */
const MOST_TRIES = 3;
/** No run of Redis is called so. */
const NO_RUN = 'none';

/** Where in the reply that grants stands when Redis did so, by its clock (us). */
const GRANTED_AT = 8;

export interface EpochsOptions {
  readonly prefix: string;
  /** How long grants pause once this node may have forgotten leases: no lease is believed for longer (ms). */
  readonly quarantineMs: number;
  /** The operator's word that a bucket without an epoch, met at the start, was never used. */
  readonly storeIsNew: boolean;
  /** Where this node is one of several: what it has. Default: everything, in one place. */
  readonly nodeBuckets?: NodeBuckets;
  readonly clock: Clock;
  readonly onError: (error: Error) => void;
}

/** What epochs are adopted with, beside who may have given a bucket. */
interface Adoption {
  readonly runId: string;
  readonly known: string;
  readonly mayBeNew: boolean;
  readonly setForwardUs: number;
}

/**
 * Keeps grants away from a Redis node that may have forgotten leases, for as long as those may be believed, and from
 * commands that run too late. Every granting script is sent with epoch arguments: the epoch that its bucket must be in, and
 * a time after which it must do nothing. This class knows what to write there, adopts the epochs of a run of Redis that is
 * new to it, and finds out when Redis's clock was set. One for each node; what it knows outlives connections.
 */
export class Epochs implements Witness, EpochGuard {
  private readonly time = new ServerClock();
  /** Of the Redis at the other end of the connection that is there now, or was last. */
  private runId: string | undefined;
  /** Since when all epochs are known to have been those of this run. */
  private settledSince = Infinity;
  private isDurable = false;
  private overlapMs = 0;
  /** Since this run was first heard of. */
  private wasAlwaysDurable = false;
  /** The run that this server knew before. */
  private known = '';
  /** When that one answered last. */
  private heardAt = -Infinity;
  /** When that answer was asked for: it may have lain here for long. */
  private askedAt = -Infinity;
  private mayBeNew: boolean;
  /** By how much Redis's clock was found to be set forward, until all epochs say so (us). */
  private setForwardUs = 0;
  /** There is something to adopt that has not come to its end. */
  private isDue = true;
  private expected = '';
  /** Of the epochs that are in force here. */
  private bounds: Bounds;
  private pause: { readonly endsAt: number; readonly cause: QuarantineCause } | undefined;
  private running: Promise<unknown> = Promise.resolve();
  private queued: Promise<void> | undefined;
  private looking: Promise<void> | undefined;
  private readonly share: NodeBuckets;
  /** Epochs on their way to another node when the clock was found to be set forward (by so much), which may stay here. */
  private readonly leaving = new Map<string, number>();
  /** Buckets that are being adopted by themselves, by key. */
  private readonly arriving = new Map<string, Promise<void>>();

  constructor(
    private readonly options: EpochsOptions,
    private readonly connection: () => RedisConnection,
  ) {
    this.mayBeNew = options.storeIsNew;
    this.bounds = { longestMs: options.quarantineMs, durability: 'a', overlapMs: 0 };
    this.share = options.nodeBuckets ?? ALL_BUCKETS;
  }

  /** What Redis's clock shows now, as far as it is known (ms). */
  get clock(): number {
    return this.time.timeAt(this.options.clock.now());
  }

  /** Of the Redis that is there now. */
  get run(): string | undefined {
    return this.runId;
  }

  /** Since when this server knows that run as one whose epochs are all in force (ms, by our clock); Infinity: not yet. */
  get knownSince(): number {
    return this.settledSince;
  }

  /** What is known of it is not older than what grants may be based on. */
  get isCurrent(): boolean {
    return this.options.clock.now() - this.askedAt <= KNOWN_FOR_MS;
  }

  get quarantine(): Quarantine | undefined {
    const remainingMs = this.pause ? this.pause.endsAt - this.options.clock.now() : 0;
    return this.pause && remainingMs > 0 ? { remainingMs, cause: this.pause.cause } : undefined;
  }

  found(findings: NodeReport, sample: ClockSample): void {
    const { runId, durable, overlapMs, uptimeSeconds } = findings;
    const isWeaker = (this.isDurable && !durable) || overlapMs > this.overlapMs;
    this.isDurable = durable;
    this.overlapMs = overlapMs;
    if (runId !== this.runId) {
      if (this.runId !== undefined) {
        // One that ran beside the last one was not started with what that one left.
        const startedAt = sample.receivedAt - (uptimeSeconds + 1) * 1000;
        const ranBeside = startedAt + UPTIME_SLACK_MS < this.heardAt;
        // The last one's file may say that all is safe, and end where writing through was switched off.
        this.known = ranBeside || !this.wasAlwaysDurable ? NO_RUN : this.runId;
        this.mayBeNew = false;
      }
      if (runId !== undefined && !mayBeRestart(runId, this.runId)) this.known = NO_RUN;
      this.runId = runId;
      this.settledSince = Infinity;
      this.wasAlwaysDurable = true;
      this.isDue = true;
      this.leaving.clear();
      this.expect({ ...this.bounds, durability: durable ? 'a' : 'w', overlapMs });
    }
    this.wasAlwaysDurable &&= durable;
    if (runId === undefined) return;
    this.heardAt = sample.receivedAt;
    this.askedAt = sample.sentAt;
    this.take(sample);
    if (isWeaker || this.pause) this.isDue = true;
    if (this.isDue) this.adopt().catch((error: unknown) => this.failed(error));
    if (this.leaving.size > 0) this.followUp().catch((error: unknown) => this.failed(error));
  }

  epochArguments(deadline: number, keys: readonly string[]): readonly (string | number)[] | undefined {
    if (this.runId === undefined) return undefined;
    const isKnown = this.setForwardUs === 0 && this.isCurrent && !this.isLeaving(keys);
    return [this.expected, isKnown ? this.notAfter(deadline) : 0];
  }

  private isLeaving(keys: readonly string[]): boolean {
    return this.leaving.size > 0 && this.leaving.has(keys[EPOCH_AT] ?? '');
  }

  epochCheck(reply: readonly Reply[], keys: readonly string[], sentAt: number): Promise<Verdict> | undefined {
    switch (reply[0] as string) {
      case 'GRANTED':
        if (this.isOnTime(Number(reply[GRANTED_AT]) / 1000, sentAt)) break;
        return Promise.resolve({ kind: 'in doubt' });
      case 'EPOCH':
        return this.adoptFor(keys).then(again);
      case 'STALE':
        return this.checkClock().then(again);
      case 'QUARANTINED':
        this.askAfterQuarantine();
        return Promise.resolve({ kind: 'quarantined', forMs: Number(reply[3]) / 1000 });
    }
    // Carried out for its own lease alone.
    if (reply[1] === '2') this.askAfterQuarantine();
    return undefined;
  }

  /** Else Redis's clock was set forward, and what was granted may be believed by another whose lease it ended early. */
  private isOnTime(time: number, sentAt: number): boolean {
    this.take({ time, sentAt, receivedAt: this.options.clock.now() });
    if (this.setForwardUs === 0) return true;
    if (!this.queued) this.adopt().catch((error: unknown) => this.failed(error));
    return false;
  }

  /** Resolves once every epoch of the node is that of the Redis that runs now, and says whether grants pause. */
  adopt(): Promise<void> {
    this.isDue = true;
    // One that is under way may be past the epoch for which this one is wanted.
    this.queued ??= this.running.then(() => {
      this.queued = undefined;
      const sweep = this.sweep();
      this.running = sweep.catch(() => undefined);
      return sweep;
    });
    return this.queued;
  }

  /**
   * Of several nodes one is given buckets one by one, and those alone have another's epoch then. Where nothing could be
   * done the command itself is told why when it is sent again: the bucket is elsewhere by now.
   */
  private adoptFor(keys: readonly string[]): Promise<void> {
    const key = keys[EPOCH_AT];
    if (!this.options.nodeBuckets || this.isDue || key === undefined) return this.adopt();
    let running = this.arriving.get(key);
    if (!running) {
      running = this.adoptSome([key])
        .catch((error: unknown) => {
          if (!wasNotDone(error) || (error as StoreFailure).kind !== 'unavailable') throw error;
        })
        .finally(() => this.arriving.delete(key));
      this.arriving.set(key, running);
    }
    return running;
  }

  private async adoptSome(keys: readonly string[]): Promise<void> {
    const found = await this.adoptBuckets(keys, this.adoption());
    this.expect(worst(this.bounds, found));
    const endsAt = this.options.clock.now() + found.leftUs / 1000;
    if (found.leftUs === 0 || endsAt <= (this.pause?.endsAt ?? 0)) return;
    this.pause = { endsAt, cause: found.cause as QuarantineCause };
    this.connection().changed();
  }

  /** Of some buckets alone, which were given to this node by another; all of what one command may be about. */
  adoptArrived(buckets: readonly number[]): Promise<void> {
    return this.adoptSome(buckets.map((bucket) => epochKey(this.options.prefix, bucket)));
  }

  /** The operator's word: what the quarantine had left that this ended. */
  async end(): Promise<Quarantine | undefined> {
    await this.adopt();
    const runId = this.runId;
    let longest: Quarantine | undefined;
    const epochArguments = (deadline: number) =>
      this.runId === runId && runId !== undefined ? [runId, this.notAfter(deadline)] : undefined;
    try {
      const end = (keys: readonly string[]) =>
        this.connection().run(scripts.end, keys, [], whole, this.inTime(epochArguments));
      for (const [, , left, cause] of await eachOf(this.share, this.options.prefix, end)) {
        const remainingMs = Number(left) / 1000;
        if (remainingMs > (longest?.remainingMs ?? 0)) {
          longest = { remainingMs, cause: cause as QuarantineCause };
        }
      }
      await this.adopt();
    } catch (cause) {
      // Some of it may have ended.
      throw new StoreFailure('unknown', 'unavailable', { cause });
    }
    return longest;
  }

  private async sweep(): Promise<void> {
    const adoption = this.adoption();
    const { runId, setForwardUs } = adoption;
    // Where nothing is here yet, it begins with what is known of the run itself.
    let whole: Sweep = {
      leftUs: 0,
      cause: '',
      longestMs: this.options.quarantineMs,
      durability: this.isDurable ? 'a' : 'w',
      overlapMs: this.overlapMs,
    };
    const leaves = (keys: readonly string[]) => {
      for (const key of setForwardUs > 0 ? keys : []) this.leaving.set(key, setForwardUs);
    };
    const run = (keys: readonly string[]) => this.adoptBuckets(keys, adoption);
    for (const part of await eachOf(this.share, this.options.prefix, run, leaves)) {
      const worse = part.leftUs > whole.leftUs ? part : whole;
      whole = { ...worse, ...worst(whole, part) };
    }
    if (this.runId !== runId) throw new StoreFailure('no', 'unavailable');
    this.adopted(whole, setForwardUs);
  }

  /** Buckets that a sweep did not reach since they were on their way: they have gone, or they are here after all. */
  private async followUp(): Promise<void> {
    for (const [key, setForwardUs] of [...this.leaving]) {
      const gone = await this.adoptBuckets([key], { ...this.adoption(), setForwardUs }).then(
        (found) => {
          this.expect(worst(this.bounds, found));
          return true;
        },
        (error: unknown) => {
          if (isElsewhere(error)) return isMoved(error);
          throw error;
        },
      );
      if (gone) this.leaving.delete(key);
    }
  }

  /** Who may have given them is asked for each time that it is sent: that is as old as anything may be. */
  private async adoptBuckets(keys: readonly string[], adoption: Adoption): Promise<Sweep> {
    for (let tries = 1; ; tries += 1) {
      const startedAt = this.options.clock.now();
      const givers = await this.share.sourceRuns(keys);
      const epochArguments = this.adoptionArguments(adoption, givers, startedAt);
      const found = await this.connection().run(scripts.adopt, keys, [], readSweep, {
        epochArguments,
        epochCheck: none,
      });
      if (found !== LATE) return found;
      if (tries === MOST_TRIES) throw new StoreFailure('no', 'unavailable');
      await this.probeAgain();
    }
  }

  private adoptionArguments(
    { runId, known, mayBeNew, setForwardUs }: Adoption,
    givers: readonly string[],
    startedAt: number,
  ): EpochGuard['epochArguments'] {
    return (deadline) => {
      if (this.runId !== runId) return undefined;
      return [
        runId,
        this.isDurable ? 'a' : 'w',
        Math.max(this.options.quarantineMs, this.bounds.longestMs),
        known,
        mayBeNew ? 1 : 0,
        setForwardUs,
        this.notAfter(Math.min(deadline, startedAt + KNOWN_FOR_MS)),
        Math.max(this.overlapMs, this.bounds.overlapMs),
        givers.join(' '),
      ];
    };
  }

  /** What epochs are adopted with, as things stand now. */
  private adoption(): Adoption {
    const { runId, setForwardUs, known, mayBeNew } = this;
    if (runId === undefined) throw new StoreFailure('no', 'unavailable');
    return { runId, setForwardUs, known, mayBeNew };
  }

  private adopted(sweep: Sweep, setForwardUs: number): void {
    const { leftUs, cause } = sweep;
    this.known = this.runId ?? '';
    this.mayBeNew = false;
    if (this.setForwardUs === setForwardUs) this.setForwardUs = 0;
    this.isDue = this.setForwardUs > 0 || this.queued !== undefined;
    this.expect(sweep);
    const isNews = this.settledSince === Infinity;
    if (isNews) this.settledSince = this.options.clock.now();
    const before = this.pause;
    const endsAt = this.options.clock.now() + leftUs / 1000;
    this.pause = leftUs > 0 ? { endsAt, cause: cause as QuarantineCause } : undefined;
    if (before?.cause !== this.pause?.cause) this.connection().changed();
    if (isNews) this.share.settled?.();
  }

  /** An epoch that is in force is spelt so; of one that is spelt otherwise, a script looks closer. */
  private expect({ longestMs, durability, overlapMs }: Bounds): void {
    this.bounds = { longestMs, durability, overlapMs };
    this.expected = `${this.runId ?? ''} ${durability} ${longestMs} ${overlapMs}`;
  }

  private notAfter(deadline: number): number {
    return Math.floor(this.time.timeAt(deadline) * 1000);
  }

  private take(sample: ClockSample): void {
    // Whatever was granted before that has ended, and its end may have come by either clock.
    if (sample.receivedAt - this.time.takenAt > this.bounds.longestMs) this.time.forget();
    const step = this.time.take(sample);
    if (step <= 0) return;
    this.setForwardUs = Math.max(this.setForwardUs, Math.ceil(step * 1000));
    this.isDue = true;
  }

  /** For a script that has no more to know than the time: one that was late is sent again, as long as it is waited for. */
  private inTime(epochArguments: EpochGuard['epochArguments']): EpochGuard {
    return {
      epochArguments,
      epochCheck: ([word]) => (word === 'STALE' ? this.probeAgain().then(again) : undefined),
    };
  }

  /** A command was late. If Redis's clock was not set, it was just that, and is sent again. */
  private checkClock(): Promise<void> {
    return this.probeAgain().then(() => (this.setForwardUs > 0 ? this.adopt() : undefined));
  }

  private probeAgain(): Promise<void> {
    this.looking ??= this.connection()
      .probeNode()
      .catch((cause: unknown) => {
        throw new StoreFailure('no', 'unavailable', { cause });
      })
      .finally(() => (this.looking = undefined));
    return this.looking;
  }

  private askAfterQuarantine(): void {
    if (!this.pause && !this.queued) this.adopt().catch((error: unknown) => this.failed(error));
  }

  /** It is tried again at the next word from Redis. */
  private failed(error: unknown): void {
    reportDefect(error, (defect) => this.options.onError(defect as Error));
  }
}

/** One that took over from another, or was another's replica for a time, has what that one had, or less. */
function mayBeRestart(runId: string, last: string | undefined): boolean {
  return !hasTakenOver(runId) && !last?.startsWith(runId);
}

function none(): undefined {
  return undefined;
}

function again(): Verdict {
  return { kind: 'again' };
}

function whole(reply: Reply[]): Reply[] {
  return reply;
}
