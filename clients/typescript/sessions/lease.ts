import { setMaxListeners } from 'node:events';
import { inspect } from 'node:util';
import type { Lease as LeaseMessage } from '../../../generated/typescript/holdfast/v1/lease';
import { withCaller } from '../caller-stack';
import { exactNow, now } from '../clock';
import { durationToMs } from '../duration';
import { LeaseLostError, type HoldfastError, type LossCause } from '../errors';
import { metadataMap, type Metadata } from '../leases/metadata';
import { LONGEST_TIMER_MS, NUMBERS } from '../numbers';
import { checkedMetadata } from '../texts';
import { Belief } from './belief';
import { EARLY_ENDS } from './loss-causes';
import type { OpenSession } from './open-session';

export interface ReleaseAnswer {
  /** True: the work was protected until this release. */
  readonly released: boolean;
  /** If `released` is false: why the lease had ended. Undefined: the cause is not known. */
  readonly lossCause: LossCause | undefined;
}

/** An update of metadata without an answer. */
export interface PendingUpdate {
  begin(): Error | undefined;
  place(): void;
  reject(error: Error): void;
}

/** What a lease asks of the client that holds it. */
export interface LeaseKeeper {
  over(lease: Lease): void;
  /** Work under the lease begins. The release of the lease is its end. */
  began(lease: Lease): void;
  release(lease: Lease): Promise<ReleaseAnswer>;
  update(lease: Lease, change: MetadataChange): Promise<void>;
  /** What keeps the lease from a renewal. Undefined: nothing is known. */
  whyNotRenewed(lease: Lease): HoldfastError | undefined;
  /** The error of a release without an answer. Tells why, if known. */
  noAnswerToRelease(lease: Lease, what: string): HoldfastError;
}

/** What the caller has asked for, and what a server does not say of a lease. */
export interface LeaseWishes {
  readonly maxHoldMs?: number | undefined;
  readonly metadata?: ReadonlyMap<string, string> | undefined;
}

/** Makes the next metadata of a lease from those that others see. */
export type MetadataChange = (shown: ReadonlyMap<string, string>) => ReadonlyMap<string, string>;

/** A held lock, or held permits. */
export class Lease {
  readonly name: string;
  readonly permitCount: number;
  /** @internal A secret that belongs into no log. */
  readonly id: string;
  /** @internal */
  readonly token: bigint;
  /** @internal The session that holds the lease, or that was last sent an attach. */
  home: OpenSession | undefined;
  /** @internal The number of the lease in `home`. Undefined until the attach is answered. */
  number: number | undefined;
  /** @internal The updates without an answer, in the order of the calls. Only the first one is sent. */
  readonly updates: PendingUpdate[] = [];
  /** @internal The metadata that others see, without those of `connect`. */
  shown: ReadonlyMap<string, string>;
  /** @internal */
  ttl: number;
  /** @internal The number of failed attaches in a row. */
  attachFailures = 0;
  /** @internal Why the last attach has failed. Undefined after an attach. */
  lastAttachError: HoldfastError | undefined;
  private readonly belief: Belief;
  private readonly holdUntil: number;
  private over: LeaseLostError | undefined;
  /** Made when the caller first asks for a signal, because an attach of 10,000 leases must not make 10,000 signals. */
  private ended: AbortController | undefined;
  private timer: NodeJS.Timeout | undefined;
  private releasing: Promise<ReleaseAnswer> | undefined;
  private isLossTold = false;
  private isReleased = false;

  /** @internal */
  constructor(
    message: LeaseMessage,
    deadline: number,
    { maxHoldMs, metadata }: LeaseWishes,
    private readonly keeper: LeaseKeeper,
  ) {
    this.id = message.leaseId;
    this.name = message.name;
    this.token = message.fencingToken;
    this.permitCount = message.permitCount;
    this.ttl = (message.ttl && durationToMs(message.ttl)) ?? 0;
    this.shown = metadata ?? new Map();
    this.belief = new Belief(deadline);
    this.holdUntil = now() + (maxHoldMs ?? Infinity);
    this.watch();
  }

  /** Pass the token to the protected store, which refuses smaller tokens. Throws a LeaseLostError as `check` does. */
  get fencingToken(): bigint {
    this.check();
    return this.token;
  }

  /** Aborts when the lease is over, with a LeaseLostError as its reason. Also after a release, with the cause RELEASED. */
  get signal(): AbortSignal {
    if (this.ended === undefined) {
      this.ended = new AbortController();
      // Each piece of the work may listen. Node warns after ten.
      setMaxListeners(Infinity, this.ended.signal);
      if (this.over) this.ended.abort(this.over);
    }
    return this.ended.signal;
  }

  /** Whether this process may rely on the lease. Compares the clock, because a timer may be late. */
  get isValid(): boolean {
    return !this.isOverNow();
  }

  /** The time until the deadline (ms). 0: the lease is over. A renewal makes the time longer. */
  remaining(): number {
    return this.isOverNow() ? 0 : Math.min(this.deadline, this.holdUntil) - now();
  }

  /** Call before each step of the work. Throws a LeaseLostError if the lease is over. */
  check(): void {
    if (!this.isOverNow() || this.over === undefined) return;
    this.isLossTold = true;
    throw this.over;
  }

  /** The loss of the lease. Undefined: the lease is held, or `release` of this lease has ended it. */
  get loss(): LeaseLostError | undefined {
    return this.isOverNow() && !this.isReleased ? this.over : undefined;
  }

  /**
   * Releases the lease, after the work has ended. Also after a loss. Rejects if no answer comes within 5 s: with an
   * UnavailableError, or with the error of the refusal if the servers refuse the client. The release is then repeated in
   * the background until an answer comes or the lease has ended by its ttl.
   */
  release(): Promise<ReleaseAnswer> {
    this.releasing ??= withCaller(this.release, () => this.inTime(this.keeper.release(this)));
    return this.releasing;
  }

  /**
   * Replaces the metadata that others see. Updates of one lease take turns, and each has 10 s, with its wait for the turn.
   * Rejects with a LeaseLostError if the lease is over, and as `release` does if no answer comes in time. Such an update
   * may still be carried out, and the next update does not know of it.
   */
  async updateMetadata(metadata: Metadata): Promise<void> {
    const entries = checkedMetadata(metadataMap(metadata));
    await this.changeMetadata(() => entries);
  }

  /** @internal As `updateMetadata`. The change is made when the turn comes. */
  changeMetadata(change: MetadataChange): Promise<void> {
    return withCaller(this.changeMetadata, () => this.keeper.update(this, change));
  }

  /**
   * The end of a block with `await using`: releases the lease. Rejects with a LeaseLostError if the lease was lost and
   * `check` has not told so.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    const loss = await this.finish();
    if (loss && !this.isLossTold) throw loss;
  }

  /** Neither a log nor an error shows the id. */
  toJSON(): object {
    return { name: this.name, fencingToken: String(this.token), permitCount: this.permitCount };
  }

  [inspect.custom](): string {
    return `Lease ${inspect(this.toJSON())}`;
  }

  /**
   * @internal Work under the lease begins, so `close` of the client leaves the release to the end of the work. Returns the
   * loss if the lease is over already.
   */
  beginWork(): LeaseLostError | undefined {
    if (this.isOverNow()) return this.over;
    this.keeper.began(this);
    return undefined;
  }

  /**
   * @internal The end of the work: releases the lease, and waits a short time for the answer. Does not wait after a loss,
   * because no answer can change the loss. Never rejects. Resolves with the loss of the lease.
   */
  async finish(): Promise<LeaseLostError | undefined> {
    const { loss } = this;
    const early = this.leave();
    return loss ?? early;
  }

  /** Never rejects. Resolves with a loss if the server ended the lease before this release. */
  private async leave(): Promise<LeaseLostError | undefined> {
    const answer = await this.release().catch(() => undefined);
    const cause = answer?.released === false ? answer.lossCause : undefined;
    return cause && EARLY_ENDS.has(cause) ? new LeaseLostError(this.name, cause) : undefined;
  }

  /** @internal The time of the own clock until which this process may rely on the lease. */
  get deadline(): number {
    return this.belief.deadline;
  }

  /** @internal */
  get isOver(): boolean {
    if (this.over) return true;
    const time = now();
    if (this.belief.isOver(time)) this.end('DEADLINE');
    else if (time >= this.holdUntil) this.end('MAX_HOLD');
    return this.over !== undefined;
  }

  /** @internal Takes the deadline of a renewal or an attach. */
  confirm(deadline: number): void {
    this.belief.confirm(deadline, now());
  }

  /**
   * @internal Only the first cause counts. A deadline that has passed is an earlier cause.
   *
   * @param byRelease the caller has released the lease, which is no loss
   */
  end(cause: LossCause, byRelease = false): void {
    if (this.over) return;
    const passed = this.deadline <= exactNow();
    this.belief.end();
    clearTimeout(this.timer);
    this.isReleased = byRelease && !passed;
    const lossCause = passed ? 'DEADLINE' : cause;
    const why = lossCause === 'DEADLINE' ? this.keeper.whyNotRenewed(this) : undefined;
    this.over = new LeaseLostError(this.name, lossCause, { cause: why, why: why?.message });
    this.ended?.abort(this.over);
    this.keeper.over(this);
  }

  /** Compares the clock in this moment, also just after a suspend. */
  private isOverNow(): boolean {
    if (this.over === undefined) exactNow();
    return this.isOver;
  }

  private async inTime(answer: Promise<ReleaseAnswer>): Promise<ReleaseAnswer> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const text = `the release of ${JSON.stringify(this.name)} has no answer yet, and is repeated in the background`;
      timer = setTimeout(() => reject(this.keeper.noAnswerToRelease(this, text)), NUMBERS.limits.releaseMs);
    });
    try {
      return await Promise.race([answer, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** A renewal does not move the timer. The timer finds the later deadline when it fires. */
  private watch(): void {
    const wait = Math.min(Math.ceil(Math.min(this.deadline, this.holdUntil) - now()), LONGEST_TIMER_MS);
    this.timer = setTimeout(() => {
      if (!this.isOver) this.watch();
    }, wait);
    this.timer.unref();
  }
}
