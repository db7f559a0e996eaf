import type { Redis } from 'ioredis';
import { replicationMark } from '../../../generated/redis/scripts';
import type { Clock, Timer } from '../../base/clock';
import { StoreFailure } from '../../base/errors';
import { pause } from '../../flow/waiting';
import { markKey } from '../buckets';
import { isNotPermitted, redirectionOf } from '../failure-class';
import { OccasionalConnection, type OccasionalConnectionOptions } from '../redis-client';
import { askInfo } from './node-answers';
import { type NodeReport, runIdOf } from './report';

export interface ReplicaConfirmationsOptions extends OccasionalConnectionOptions {
  readonly clock: Clock;
  /** Called when this Redis begins or stops to permit WAIT. */
  readonly onChange: () => void;
}

/** A change that this Redis has made, and that replicas must confirm. */
export interface Change {
  /** The run of Redis that made the change, as known before the change was sent. */
  readonly runId: string | undefined;
  readonly replicaCount: number;
  /** A key of the change. */
  readonly key: string;
  /** When the caller stops waiting (ms, monotonic clock). */
  readonly deadline: number;
}

interface Waiting extends Change {
  readonly askedAt: number;
  readonly settle: (error?: StoreFailure) => void;
}

/** The answer of one round: the run of Redis, and how many of its replicas have all changes of the round. */
interface Confirmation {
  readonly runId: string | undefined;
  readonly replicaCount: number;
}

/** The most changes that wait for replicas. Each waits for at most the command timeout. */
const MOST_WAITING = 10_000;
/** The pause after a failed round (ms). */
const PAUSE_MS = 50;
/** The connection is given up this long after a round should have ended (ms). */
const REPLY_MS = 250;
/** How long the key of a mark stays (ms). */
const MARK_STAYS_MS = 60_000;

/**
 * Waits until replicas have changes. WAIT blocks its connection, and covers only the writes of this connection. So a
 * separate connection writes a mark after the changes, and then waits for the mark. A replica with the mark has all
 * earlier writes of the master. One round of mark and WAIT serves all changes that were made before the mark.
 */
export class ReplicaConfirmations {
  private readonly connection: OccasionalConnection;
  private readonly waiting = new Set<Waiting>();
  private isRunning = false;
  private isRefused = false;
  private closed = false;

  constructor(private readonly options: ReplicaConfirmationsOptions) {
    this.connection = new OccasionalConnection(options);
  }

  /** True if this Redis does not permit WAIT, so that no change can be confirmed. */
  get refused(): boolean {
    return this.isRefused;
  }

  /** Resolves when enough replicas have the change. Rejects with an `unconfirmed` failure otherwise. */
  confirm(change: Change): Promise<void> {
    const { clock } = this.options;
    const askedAt = clock.now();
    if (this.closed || this.waiting.size >= MOST_WAITING) return Promise.reject(unconfirmed());
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        ...change,
        askedAt,
        settle: (error) => {
          timer.cancel();
          this.waiting.delete(waiting);
          if (error) reject(error);
          else resolve();
        },
      };
      const timer: Timer = clock.after(change.deadline - askedAt, () => waiting.settle(unconfirmed()));
      this.waiting.add(waiting);
      if (!this.isRunning) void this.run();
    });
  }

  close(): void {
    this.closed = true;
    this.connection.close();
    for (const { settle } of [...this.waiting]) settle(unconfirmed());
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    while (this.waiting.size > 0) {
      const batch = [...this.waiting];
      try {
        this.settle(batch, await this.round(batch));
        this.setRefused(false);
      } catch (error) {
        this.onFailed(batch, error);
        await pause(this.options.clock, PAUSE_MS);
      }
    }
    this.isRunning = false;
  }

  private round(batch: readonly Waiting[]): Promise<Confirmation> {
    const { clock } = this.options;
    const [{ key }] = batch as [Waiting, ...Waiting[]];
    const replicaCount = Math.max(...batch.map((one) => one.replicaCount));
    const deadline = Math.max(...batch.map((one) => one.deadline));
    const remainingMs = () => Math.max(1, Math.ceil(deadline - clock.now()));
    const work = async (client: Redis): Promise<Confirmation> => {
      await client.eval(replicationMark, 1, markKey(key), MARK_STAYS_MS);
      // INFO runs after WAIT. If the run is the same then, this Redis was master all the time, and did not lose the
      // changes in between.
      const [confirmedBy, info] = await Promise.all([
        client.wait(replicaCount, remainingMs()),
        askInfo(client),
      ]);
      return { runId: runIdOf(info), replicaCount: Number(confirmedBy) };
    };
    return this.connection.use(work, remainingMs() + REPLY_MS);
  }

  private settle(batch: readonly Waiting[], { runId, replicaCount }: Confirmation): void {
    const ofOtherRuns = batch.filter((one) => one.runId === undefined || one.runId !== runId);
    this.giveUp(ofOtherRuns);
    for (const one of batch) {
      // A change with too few replicas joins the next round, until its deadline.
      if (!ofOtherRuns.includes(one) && replicaCount >= one.replicaCount) one.settle();
    }
  }

  private onFailed(batch: readonly Waiting[], error: unknown): void {
    const [first] = batch as [Waiting, ...Waiting[]];
    this.options.onError(error as Error);
    const kind = redirectionOf(error)?.kind;
    // The slot is moving or has moved. The new owner may have the change, but this Redis cannot tell.
    if (kind === 'moved' || kind === 'ask') first.settle(unconfirmed(error));
    if (kind === 'read-only') this.giveUp(batch, error);
    if (!isNotPermitted(error)) return;
    this.setRefused(true);
    for (const { settle } of batch) settle(unconfirmed(error));
  }

  /** Another master may have taken over without these changes. But an old connection may only lead to an old master. */
  private giveUp(changes: readonly Waiting[], error?: unknown): void {
    if (changes.length === 0) return;
    const { openedAt } = this.connection;
    this.connection.disconnect();
    for (const { askedAt, settle } of changes) if (askedAt <= openedAt) settle(unconfirmed(error));
  }

  private setRefused(refused: boolean): void {
    if (this.isRefused === refused) return;
    this.isRefused = refused;
    this.options.onChange();
  }
}

function unconfirmed(cause?: unknown): StoreFailure {
  return new StoreFailure('unknown', 'unconfirmed', { cause });
}

/** The Redis that answered a command, as it was known just before the command was sent. */
export class AnsweringNode {
  constructor(
    readonly report: NodeReport,
    private readonly confirmations: ReplicaConfirmations,
    private readonly commandTimeoutMs: number,
  ) {}

  /**
   * Resolves when as many replicas as this Redis asks for have the change that this Redis answered, and all its earlier
   * writes. Rejects with an `unconfirmed` failure at the command timeout. Resolves immediately if Redis asks for none.
   *
   * @param key A key of the change.
   * @param sentAt When the change was sent (ms, monotonic clock).
   */
  confirm(key: string, sentAt: number): Promise<void> {
    const { runId, confirmingReplicas: replicaCount } = this.report;
    if (replicaCount === 0) return Promise.resolve();
    return this.confirmations.confirm({ runId, replicaCount, key, deadline: sentAt + this.commandTimeoutMs });
  }
}

/**
 * Makes a `read` of a command: if `mustConfirm` returns true for the reply, the answer waits until the replicas have the
 * state that the reply reports. A reply may report the work of an earlier try, which the replicas have not confirmed.
 */
export function confirmed<Raw, T>(
  key: string,
  read: (reply: Raw) => T,
  mustConfirm: (answer: T) => boolean,
): (reply: Raw, sentAt: number, by: AnsweringNode) => T | Promise<T> {
  return (reply, sentAt, by) => {
    const answer = read(reply);
    return mustConfirm(answer) ? by.confirm(key, sentAt).then(() => answer) : answer;
  };
}
