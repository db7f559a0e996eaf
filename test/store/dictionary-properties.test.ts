import fc from 'fast-check';
import { profileOf, scripts, stepOf } from '../support/dictionary-arbitraries';
import { DictionaryFixture } from '../support/dictionary-fixture';
import { DictionaryHistory } from '../support/dictionary-history';
import { sayMeasured } from '../support/measured';
import { TypoRecall } from '../support/typo-recall';

const HISTORIES = 120;
const STEPS = 40;
/** Fewer histories on a slow machine rather than a failure for being slow. */
const TIME_LIMIT_MS = 2_500;
const LEAST_RECALL = 0.95;

describe('a dictionary, beside a plain model', () => {
  let fixture: DictionaryFixture;
  const recall = new TypoRecall();
  let histories = 0;
  beforeAll(async () => {
    fixture = await DictionaryFixture.open();
  });
  afterAll(() => fixture?.close());

  it.each(scripts)('answers as it does whatever happens, and agrees with itself, in %s', async (script) => {
    const steps = fc.array(stepOf(script), { minLength: 1, maxLength: STEPS, size: 'max' });
    const end = performance.now() + TIME_LIMIT_MS;
    await fc.assert(
      fc.asyncProperty(profileOf, steps, async (profile, history) => {
        if (performance.now() > end) return;
        histories += 1;
        const world = await DictionaryHistory.begin(fixture, profile, recall);
        for (const step of history) await world.step(step);
        await world.end();
      }),
      { numRuns: HISTORIES },
    );
  });

  it('was compared over more than a few histories', () => {
    sayMeasured(`small dictionaries: ${histories} histories`);
    expect(histories).toBeGreaterThan(2 * scripts.length);
  });

  it('finds the typos that there are', () => {
    sayMeasured(`small dictionaries: ${recall}`);
    expect({ enough: recall.recall >= LEAST_RECALL, missed: recall.missed }).toMatchObject({ enough: true });
  });

  it('leaves nothing that goes wrong where no call waits for it', () => {
    expect(fixture.defects).toEqual([]);
  });
});
