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
