import fc from 'fast-check';

/** `npm run test:slow` sets this variable (jest.slow.cjs), and checks each property for longer. */
export const IS_LONG = process.env.TEST_LONG_PROPERTIES !== undefined;

/** How long a property of weight 1 is checked with random inputs. */
const BUDGET_MS = IS_LONG ? 3000 : 100;
/** Inputs that are checked even if the time is over before, because a slow machine must check something, too. */
const LEAST_INPUTS = 10;
/** So many inputs of a quick property are enough within `npm test`. */
const MOST_INPUTS = IS_LONG ? 1_000_000 : 400;
/** How long a failure is made smaller. Then the smallest input so far is reported, before the test runs out of time. */
const SHRINK_MS = 10_000;

/** The weight of a property of the lease protocol or of a store: its inputs are long histories. */
export const HISTORIES = 5;

const SURROGATES = { first: 0xd800, end: 0xe000 };
const SURROGATE_COUNT = SURROGATES.end - SURROGATES.first;

/**
 * The unit of texts of any characters, as fast-check's 'binary'. For that unit, fast-check makes a table of all code
 * points, which takes a second of a core and 100 MB in each test file.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat(0x10ffff - SURROGATE_COUNT).map(
  (index) => String.fromCodePoint(index < SURROGATES.first ? index : index + SURROGATE_COUNT),
  (text) => {
    const codePoint = typeof text === 'string' ? (text.codePointAt(0) ?? -1) : -1;
    if (codePoint < 0 || String.fromCodePoint(codePoint) !== text) throw new Error('not one character');
    return codePoint < SURROGATES.first ? codePoint : codePoint - SURROGATE_COUNT;
  },
);

export interface PropertyOptions<Inputs> {
  /** How many times the usual time and inputs: less than 1 for one of many variants. */
  readonly weight?: number;
  readonly budgetMs?: number;
  /** Inputs that are always checked. */
  readonly examples?: Inputs[];
  /** Of a failure that fast-check has printed, to see it again. */
  readonly seed?: number;
  readonly path?: string;
}

/**
 * Checks a property with as many random inputs as the machine runs within the time, and with at least ten. All tests
 * use this instead of `fc.assert` (.ci/eslint.config.mjs), because only then `npm test` is quick and `npm run test:slow`
 * thorough.
 */
export function assertWithinTime<Inputs>(
  property: fc.IAsyncProperty<Inputs>,
  options?: PropertyOptions<Inputs>,
): Promise<void>;
export function assertWithinTime<Inputs>(
  property: fc.IProperty<Inputs>,
  options?: PropertyOptions<Inputs>,
): void;
export function assertWithinTime<Inputs>(
  property: fc.IRawProperty<Inputs>,
  { weight = 1, budgetMs = BUDGET_MS * weight, examples = [], ...failure }: PropertyOptions<Inputs> = {},
): Promise<void> | void {
  // eslint-disable-next-line no-restricted-properties
  return fc.assert(property, {
    ...failure,
    examples,
    numRuns: Math.ceil(MOST_INPUTS * weight) + examples.length,
    plugins: [limit(budgetMs, Math.ceil(LEAST_INPUTS * Math.min(weight, 1)) + examples.length)],
  });
}

type Run = fc.IRawProperty<never>['run'];
type Result = Awaited<ReturnType<Run>>;

/** fast-check's own time limit does not wait for the run that it interrupts, and that run would use a closed fixture. */
function limit(budgetMs: number, leastInputs: number): fc.Plugin<unknown> {
  const endsAt = performance.now() + budgetMs;
  let inputs = 0;
  let failedAt: number | undefined;
  const isOver = (): boolean =>
    failedAt === undefined
      ? inputs >= leastInputs && performance.now() > endsAt
      : performance.now() > failedAt + SHRINK_MS;
  const ended = (result: Result): Result => {
    if (result === null) inputs += 1;
    else if (!fc.PreconditionFailure.isFailure(result)) failedAt ??= performance.now();
    return result;
  };
  return () => ({
    decorateRun: (run) => (value) => {
      if (isOver()) return new fc.PreconditionFailure(true);
      const result = run(value);
      return result !== null && 'then' in result ? result.then(ended) : ended(result);
    },
  });
}
