import { either } from './abort';

/**
 * An iteration that `return` and `throw` end at once. A generator alone would first wait for the end of a pending `next`,
 * and so for the next change of a state that may never change.
 */
export class Iteration<T> implements AsyncGenerator<T, void, undefined> {
  private readonly leaving = new AbortController();
  private readonly generator: AsyncGenerator<T, void, undefined>;

  /**
   * @param signal ends the iteration too
   * @param start makes the generator, which ends when `ends` aborts
   */
  constructor(
    signal: AbortSignal | undefined,
    start: (ends: AbortSignal) => AsyncGenerator<T, void, undefined>,
  ) {
    this.generator = within(signal, this.leaving.signal, start);
  }

  next(): Promise<IteratorResult<T, void>> {
    return this.generator.next();
  }

  return(): Promise<IteratorResult<T, void>> {
    this.leaving.abort();
    return this.generator.return();
  }

  /** The generator would take the error for an error of its call. */
  async throw(error: unknown): Promise<IteratorResult<T, void>> {
    await this.return();
    throw error as Error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}

async function* within<T>(
  signal: AbortSignal | undefined,
  left: AbortSignal,
  start: (ends: AbortSignal) => AsyncGenerator<T, void, undefined>,
): AsyncGenerator<T, void, undefined> {
  const ends = either(signal, left);
  try {
    yield* start(ends.signal);
  } finally {
    ends.dispose();
  }
}
