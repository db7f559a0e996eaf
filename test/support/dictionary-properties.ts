import fc from 'fast-check';
import { profileOf, scripts, stepOf } from './dictionary-arbitraries';
import { DictionaryFixture } from './dictionary-fixture';
import { DictionaryHistory } from './dictionary-history';
import { sayMeasured } from './measured';
import { TypoRecall } from './typo-recall';

const STEPS = 40;
const LEAST_RECALL = 0.95;

/** Compares a dictionary with a simple model over random histories, with `runs` histories in each writing system. */
export function testRandomHistories(runs: number, timeoutMs?: number): void {
  describe('a dictionary after random steps', () => {
    let fixture: DictionaryFixture;
    const recall = new TypoRecall();
    beforeAll(async () => {
      fixture = await DictionaryFixture.open();
    });
    afterAll(() => fixture?.close());

    it.each(scripts)(
      'gives the same answers as the model and is consistent, with texts in %s',
      async (script) => {
        const steps = fc.array(stepOf(script), { minLength: 1, maxLength: STEPS, size: 'max' });
        await fc.assert(
          fc.asyncProperty(profileOf, steps, async (profile, history) => {
            const world = await DictionaryHistory.begin(fixture, profile, recall);
            for (const step of history) await world.step(step);
            await world.end();
          }),
          { numRuns: runs },
        );
      },
      timeoutMs,
    );

    it('finds nearly all typos', () => {
      sayMeasured(`small dictionaries: ${recall}`);
      const enough = recall.recall >= LEAST_RECALL;
      expect({ enough, missed: recall.missed }).toMatchObject({ enough: true });
    });

    it('has no defect outside of calls', () => {
      expect(fixture.defects).toEqual([]);
    });
  });
}
