import fc from 'fast-check';

export interface PropertyLimits {
  /** The largest number of runs. */
  readonly runs: number;
  readonly timeLimitMs: number;
}

/**
 * Checks a property with as many random inputs as the machine runs within the time limit, so that a slow machine does
 * not fail. fast-check does not wait for a run that the time limit interrupts. This function waits for that run,
 * because the run must not use a fixture after the fixture's close.
 */
export async function assertWithinTime<Input>(
  input: fc.Arbitrary<Input>,
  run: (input: Input) => Promise<void>,
  { runs, timeLimitMs }: PropertyLimits,
): Promise<void> {
  let lastInput: Input | undefined;
  let lastRun = Promise.resolve();
  const property = fc.asyncProperty(input, (value) => {
    lastInput = value;
    lastRun = run(value);
    return lastRun;
  });
  try {
    await fc.assert(property, {
      numRuns: runs,
      interruptAfterTimeLimit: timeLimitMs,
      markInterruptAsFailure: false,
    });
  } finally {
    await Promise.allSettled([lastRun]);
  }
  await lastRun.catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`the last run failed with the input ${fc.stringify(lastInput)}: ${reason}`, { cause });
  });
}
