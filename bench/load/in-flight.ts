export interface Amount {
  readonly count: number;
  readonly inFlight: number;
}

/**
 * Runs `work` for each index from 0 to `count` - 1, with `inFlight` clients in a closed loop. Each client starts its next
 * work when its last work is done. `client` is the number of the client.
 */
export async function inFlight(
  { count, inFlight: clients }: Amount,
  work: (index: number, client: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const run = async (client: number): Promise<void> => {
    while (next < count) await work(next++, client);
  };
  await Promise.all(Array.from({ length: Math.min(clients, count) }, (_, client) => run(client)));
}

/** A number of clients, and the time for which they repeat a call. */
export interface Span {
  readonly clients: number;
  readonly forMs: number;
}

/** The number of calls, the time of each call, and the exact time of all (ms). */
export interface Repeated {
  readonly count: number;
  readonly times: readonly number[];
  readonly ms: number;
}

/** Repeats the call for this time, with one call of each client in flight. Each client makes at least one call. */
export async function repeatedFor(
  { clients, forMs }: Span,
  call: (index: number, client: number) => Promise<unknown>,
): Promise<Repeated> {
  const startedAt = performance.now();
  const times: number[] = [];
  let count = 0;
  const repeat = async (client: number) => {
    do {
      const calledAt = performance.now();
      await call(count++, client);
      times.push(performance.now() - calledAt);
    } while (performance.now() < startedAt + forMs);
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => repeat(client)));
  return { count, times, ms: performance.now() - startedAt };
}

export interface Timed<Answer> {
  /** The time of each call (ms). */
  readonly times: readonly number[];
  readonly answers: readonly Answer[];
}

/** Makes one call at a time, and starts no more calls after this time. The first call is always made. */
export async function timed<Input, Answer>(
  inputs: readonly Input[],
  call: (input: Input) => Promise<Answer>,
  forMs = Infinity,
): Promise<Timed<Answer>> {
  const times: number[] = [];
  const answers: Answer[] = [];
  const end = performance.now() + forMs;
  for (const input of inputs) {
    const startedAt = performance.now();
    answers.push(await call(input));
    times.push(performance.now() - startedAt);
    if (performance.now() > end) break;
  }
  return { times, answers };
}
