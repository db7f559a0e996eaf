import fc from 'fast-check';
import { profileOf, scripts, stepOf } from '../support/dictionary-arbitraries';
import { DictionaryFixture } from '../support/dictionary-fixture';
import { DictionaryHistory } from '../support/dictionary-history';

const HISTORIES = 200;
const STEPS = 40;
/** Fewer histories on a slow machine rather than a failure for being slow. */
const TIME_LIMIT_MS = 6_000;

describe('a dictionary, beside a plain model', () => {
  let on: DictionaryFixture;
  beforeAll(async () => {
    on = await DictionaryFixture.open();
  });
  afterAll(async () => {
    expect(on?.defects).toEqual([]);
    await on?.close();
  });

  it.each(scripts)('answers as it does whatever happens, in %s', async (script) => {
    const steps = fc.array(stepOf(script), { minLength: 1, maxLength: STEPS, size: 'max' });
    await fc.assert(
      fc.asyncProperty(profileOf, steps, async (profile, history) => {
        const world = await DictionaryHistory.begin(on, profile);
        for (const step of history) await world.step(step);
        await world.end();
      }),
      { numRuns: HISTORIES, interruptAfterTimeLimit: TIME_LIMIT_MS, markInterruptAsFailure: false },
    );
  });
});
