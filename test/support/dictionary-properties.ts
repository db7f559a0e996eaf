import fc from 'fast-check';
import { profileOf, scripts, stepOf } from './dictionary-arbitraries';
import { DictionaryFixture, type DictionaryServerOptions } from './dictionary-fixture';
import { DictionaryHistory } from './dictionary-history';

const STEPS = 40;
/** Nearly every write makes a layer or a merge, and another thread builds nearly every layer. */
const TINY_LAYERS: DictionaryServerOptions = { layerLimits: { firstLayerBytes: 1, mostBytesHere: 40 } };

/**
 * Compares a dictionary at two servers with a simple model over random histories. `runs`: the number of histories in each
 * writing system.
 */
export function testRandomHistories(runs: number, timeoutMs?: number): void {
  describe.each([
    ['layers of the usual size', {}],
    ['tiny layers', TINY_LAYERS],
  ])('a dictionary with %s after random steps of two servers', (_what, options) => {
    let fixture: DictionaryFixture;
    beforeAll(async () => {
      fixture = await DictionaryFixture.open(options);
    });
    afterAll(() => fixture?.close());

    it.each(scripts)(
      'gives the same answers as the model and is consistent, with texts in %s',
      async (script) => {
        const steps = fc.array(stepOf(script), { minLength: 1, maxLength: STEPS, size: 'max' });
        await fc.assert(
          fc.asyncProperty(profileOf, steps, async (profile, history) => {
            const world = await DictionaryHistory.begin(fixture, profile);
            for (const step of history) await world.step(step);
            await world.end();
          }),
          { numRuns: runs },
        );
      },
      timeoutMs,
    );

    it('has no defect outside of calls', () => {
      expect(fixture.defects).toEqual([]);
    });
  });
}
