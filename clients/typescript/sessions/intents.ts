import { NUMBERS } from '../numbers';
import type { AcquireIntent } from './acquire-intent';

const { maxAcquiresUnanswered } = NUMBERS.session;

/** The acquires without an answer. */
export class Intents implements Iterable<AcquireIntent> {
  /** Somebody waits for the lease. */
  private readonly waiting = new Set<AcquireIntent>();
  /**
   * Nobody waits any more, but a grant may be under way. They take no place of new acquires, and the earliest of too many is
   * forgotten. The session in which a forgotten acquire is granted releases the lease all the same.
   */
  private readonly abandoned = new Set<AcquireIntent>();

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
    this.abandoned.add(intent);
    if (this.abandoned.size <= maxAcquiresUnanswered) return;
    for (const earliest of this.abandoned) {
      this.abandoned.delete(earliest);
      return;
    }
  }

  delete(intent: AcquireIntent): boolean {
    return this.waiting.delete(intent) || this.abandoned.delete(intent);
  }

  clear(): void {
    this.waiting.clear();
    this.abandoned.clear();
  }

  *[Symbol.iterator](): Generator<AcquireIntent, void, undefined> {
    yield* this.abandoned;
    yield* this.waiting;
  }
}
