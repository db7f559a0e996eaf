import { status } from '@grpc/grpc-js';
import { SemaphoreServiceService } from '../../../generated/typescript/holdfast/v1/semaphore_service';
import type { CallChannel } from '../calls/call-channel';
import type { CallOptions } from '../calls/call-options';
import { now } from '../clock';
import { LimitMismatchError, NoSuchSemaphoreError, NotAllowedError } from '../errors';
import { NUMBERS } from '../numbers';
import type { Acquire } from '../sessions/acquire-intent';
import type { Lease } from '../sessions/lease';
import type { SessionNews } from '../sessions/session-news';

/** Further limits are not looked up. A program with so many of them makes their names as it goes. */
const MAX_COMPARED = 10_000;

type Grant = (acquire: Acquire) => Promise<Lease>;

/** The limits that the callers want for one name. */
class ComparedLimits {
  readonly wanted = new Set<number>();
  /** Those that the look-up under way is for. */
  unanswered: number[] = [];
  isAsking = false;
  /** The caller may not read the limit. */
  isHidden = false;
}

/**
 * Compares the limit of the caller with the limit in force, because a server grants permits of an existing semaphore
 * whatever limit the request has, and a grant does not tell the limit.
 */
export class SemaphoreLimits {
  private readonly compared = new Map<string, ComparedLimits>();
  /** The number of the limits of all names. */
  private comparedCount = 0;

  constructor(
    private readonly channel: CallChannel,
    private readonly tell: (news: SessionNews) => void,
  ) {}

  /** Acquires with `grant`. Rejects as `grant` does, and with `exactLimit` with a LimitMismatchError too. */
  async acquire(acquire: Acquire, grant: Grant): Promise<Lease> {
    const { name, initialLimit, exactLimit } = acquire;
    if (initialLimit === undefined) return grant(acquire);
    if (exactLimit === true) return this.acquireExactly(acquire, initialLimit, grant);
    const lease = await grant(acquire);
    this.compareLater(name, initialLimit);
    return lease;
  }

  private async acquireExactly(acquire: Acquire, expected: number, grant: Grant): Promise<Lease> {
    const { name, waitMs = Infinity, signal } = acquire;
    const startedAt = now();
    const timeout = Math.min(waitMs + NUMBERS.limits.answerAfterWaitMs, NUMBERS.limits.callMs);
    const exists = await this.exists(name, expected, { signal, timeout });
    const leftMs = Math.max(0, waitMs - (now() - startedAt));
    const lease = await grant(waitMs === Infinity ? acquire : { ...acquire, waitMs: leftMs });
    if (exists) return lease;
    try {
      // Another client may have created the semaphore before this acquire.
      const created = await this.exists(name, expected, { signal });
      if (!created) throw deleted(name);
      return lease;
    } catch (error) {
      lease.release().catch(() => undefined);
      throw error;
    }
  }

  /** False: there is no semaphore yet. Rejects with a LimitMismatchError, and if the limit cannot be read. */
  private async exists(name: string, expected: number, options: CallOptions): Promise<boolean> {
    const limit = await this.limitOf(name, options);
    if (limit !== undefined && limit !== expected) throw mismatch(name, limit, expected);
    return limit !== undefined;
  }

  /** Once for each limit of a name, after its first grant. Whoever may not read the limit gets no warning. */
  private compareLater(name: string, expectedLimit: number): void {
    const compared = this.compared.get(name) ?? new ComparedLimits();
    const isKnown = compared.isHidden || compared.wanted.has(expectedLimit);
    if (isKnown || this.comparedCount >= MAX_COMPARED) return;
    this.compared.set(name, compared);
    this.comparedCount += 1;
    compared.wanted.add(expectedLimit);
    compared.unanswered.push(expectedLimit);
    if (!compared.isAsking) void this.compare(name, compared);
  }

  /** Warns of the limits that differ. Without an answer it forgets them, so that the next grant asks again. */
  private async compare(name: string, compared: ComparedLimits): Promise<void> {
    compared.isAsking = true;
    const limit = await this.limitOf(name).catch((error: unknown) => {
      compared.isHidden = error instanceof NotAllowedError;
      return undefined;
    });
    const { unanswered, wanted } = compared;
    compared.unanswered = [];
    compared.isAsking = false;
    if (compared.isHidden) return;
    for (const expectedLimit of unanswered) {
      if (limit === undefined) {
        wanted.delete(expectedLimit);
        this.comparedCount -= 1;
      } else if (limit !== expectedLimit) {
        this.tell({ kind: 'otherLimit', name, limit, expectedLimit });
      }
    }
    if (wanted.size === 0) this.compared.delete(name);
  }

  /** Undefined: there is no semaphore. A paused one counts with the limit that comes back, so its requests wait. */
  private async limitOf(name: string, options: CallOptions = {}): Promise<number | undefined> {
    try {
      const { semaphore } = await this.channel.unary(SemaphoreServiceService.getSemaphore, { name }, options);
      return semaphore?.keptLimit || semaphore?.limit;
    } catch (error) {
      if (error instanceof NoSuchSemaphoreError) return undefined;
      throw error;
    }
  }
}

function mismatch(name: string, limit: number, expected: number): LimitMismatchError {
  const text = `the semaphore ${JSON.stringify(name)} has the limit ${limit}, and exactLimit demands ${expected}`;
  const metadata = new Map([
    ['limit', String(limit)],
    ['expected_limit', String(expected)],
  ]);
  return new LimitMismatchError(text, {
    reason: 'LIMIT_MISMATCH',
    code: status.FAILED_PRECONDITION,
    metadata,
  });
}

function deleted(name: string): NoSuchSemaphoreError {
  const facts = { reason: 'NO_SUCH_SEMAPHORE', code: status.NOT_FOUND };
  return new NoSuchSemaphoreError(`the semaphore ${JSON.stringify(name)} was deleted meanwhile`, facts);
}
