import type { Clock } from '../../base/clock';

const LEAST_RETRY_MS = 100;
const MOST_RETRY_MS = 10_000;

/** How far a load is, for callers that cannot wait for its end. */
export class LoadProgress {
  readonly #beganAt: number;
  #text = 'it waits for other loads';

  constructor(private readonly clock: Clock) {
    this.#beganAt = clock.now();
  }

  /** `part`: the part of the entries that the server has read, from 0 to 1. */
  onRead(part: number): void {
    this.#text = `${Math.floor(100 * Math.min(1, part))} % of its entries are read`;
  }

  onAllRead(): void {
    this.#text = 'all its entries are read, and its index is being built';
  }

  get text(): string {
    return `for ${Math.round(this.#elapsedMs / 1000)} s; ${this.#text}`;
  }

  /**
   * A load that has taken long is likely to take long still. So a caller that waits as long as the load has taken asks a
   * few times, and learns of the end after at most twice the time of the load.
   */
  get retryAfterMs(): number {
    return Math.round(Math.min(MOST_RETRY_MS, Math.max(LEAST_RETRY_MS, this.#elapsedMs)));
  }

  get #elapsedMs(): number {
    return this.clock.now() - this.#beganAt;
  }
}
