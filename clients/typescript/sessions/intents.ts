import { LONGEST_TIMER_MS, NUMBERS } from '../numbers';
import type { AcquireIntent } from './acquire-intent';

const { longestTtlMs, maxAcquiresUnanswered } = NUMBERS.session;

/** The acquires without an answer. */
export class Intents implements Iterable<AcquireIntent> {
  /** Somebody waits for the lease. */
  private readonly waiting = new Set<AcquireIntent>();
  /**
   * Nobody waits any more, but a grant may be under way. They take no place of new acquires. Forgotten after their ttl, and
   * the earliest of too many at once. The session in which a forgotten acquire is granted releases the lease all the same.
   */
  private readonly abandoned = new Map<AcquireIntent, NodeJS.Timeout>();

  constructor(private readonly onForgotten: () => void) {}

  get isFull(): boolean {
    return this.waiting.size >= maxAcquiresUnanswered;
  }

  get isEmpty(): boolean {
    return this.waiting.size === 0 && this.abandoned.size === 0;
  }

  add(intent: AcquireIntent): void {
    this.waiting.add(intent);
  }

  isWaiting(intent: AcquireIntent): boolean {
    return this.waiting.has(intent);
  }

  /** Waiting or abandoned. */
  has(intent: AcquireIntent): boolean {
    return this.waiting.has(intent) || this.abandoned.has(intent);
  }

  abandon(intent: AcquireIntent): void {
    this.waiting.delete(intent);
    // A grant under way ends by its ttl, if nobody releases it.
    const lifeMs = Math.min(intent.acquire.ttlMs ?? longestTtlMs, LONGEST_TIMER_MS);
    const forget = () => {
      this.abandoned.delete(intent);
      this.onForgotten();
    };
    this.abandoned.set(intent, setTimeout(forget, lifeMs));
    if (this.abandoned.size <= maxAcquiresUnanswered) return;
    const [earliest] = this.abandoned.keys();
    if (earliest) this.delete(earliest);
  }

  delete(intent: AcquireIntent): boolean {
    clearTimeout(this.abandoned.get(intent));
    return this.waiting.delete(intent) || this.abandoned.delete(intent);
  }

  clear(): void {
    for (const timer of this.abandoned.values()) clearTimeout(timer);
    this.waiting.clear();
    this.abandoned.clear();
  }

  *[Symbol.iterator](): Generator<AcquireIntent, void, undefined> {
    yield* this.abandoned.keys();
    yield* this.waiting;
  }
}
