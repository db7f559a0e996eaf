import fc from 'fast-check';
import * as generated from '../../../generated/redis/scripts';
import { embeddedAfter } from '../../support/embedded-scripts';
import { DRAWN_NAMES, history } from '../../support/leases/library-operations';
import { LibraryRuns, operationCount } from '../../support/leases/library-runs';
import { smallBounds } from '../../support/leases/small-bounds';
import { assertWithinTime, HISTORIES, IS_LONG } from '../../support/timed-property';

/** Of each kind of texts in `npm run test:slow`. */
const LEAST_OPERATIONS = 500_000;
const TIMEOUT_MS = 600_000;

const kinds = [
  ['', () => new Map(Object.entries(generated))],
  [', with bounds that random histories pass often', () => embeddedAfter(smallBounds)],
] as const;
describe.each(kinds)('the library of leases%s', (_, embedded) => {
  let runs: LibraryRuns;
  beforeAll(async () => {
    runs = await LibraryRuns.open(embedded());
  });
  afterAll(() => runs?.close());

  it('has the operations that the random histories have', () => {
    expect([...runs.texts.scripts.keys()].sort()).toEqual([...DRAWN_NAMES].sort());
  });

  it(
    'answers and stores what the scripts do, for random operations in commands of one to eight',
    async () => {
      let count = 0;
      const property = fc.asyncProperty(history, async (drawn) => {
        const [expected, found] = await Promise.all([runs.byScripts(drawn), runs.byFunctions(drawn)]);
        // A comparison of texts is much faster.
        if (JSON.stringify(found) !== JSON.stringify(expected)) expect(found).toEqual(expected);
        count += operationCount(drawn);
      });
      do await assertWithinTime(property, { weight: HISTORIES });
      while (IS_LONG && count < LEAST_OPERATIONS);
    },
    TIMEOUT_MS,
  );
});
