import fc from 'fast-check';

/** `npm run test:slow` sets this variable (jest.slow.cjs), and checks the files `*properties.test.ts` for longer. */
const IS_LONG = process.env.TEST_LONG_PROPERTIES !== undefined;

/** How long a property is checked with random inputs. */
const BUDGET_MS = IS_LONG ? 20_000 : 2000;
/** Inputs that are checked even if the time is over before, because a slow machine must check something, too. */
const LEAST_INPUTS = 10;
/** How long a failure is made smaller. Then the smallest input so far is reported, before the test runs out of time. */
const SHRINK_MS = 10_000;

export interface PropertyBudget {
  /** The part of the usual time and inputs, for a property that is checked in many variants. */
  readonly share?: number;
  readonly budgetMs?: number;
}

/** Checks a property with as many random inputs as the machine runs within the time, and with at least ten. */
export async function assertWithinTime<Input>(
  input: fc.Arbitrary<Input>,
  run: (input: Input) => Promise<void>,
  { share = 1, budgetMs = BUDGET_MS * share }: PropertyBudget = {},
): Promise<void> {
  const endsAt = performance.now() + budgetMs;
  let failedAt: number | undefined;
  const property = fc.asyncProperty(input, async (value) => {
    if (failedAt !== undefined && performance.now() > failedAt + SHRINK_MS) return;
    try {
      await run(value);
    } catch (error) {
      failedAt ??= performance.now();
      throw error;
    }
  });
  // fast-check's own time limit does not wait for the run that it interrupts, and that run would use a closed fixture.
  do await fc.assert(property, { numRuns: Math.ceil(LEAST_INPUTS * Math.min(share, 1)) });
  while (performance.now() < endsAt);
}
