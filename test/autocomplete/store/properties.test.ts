import fc from 'fast-check';
import {
  DictionaryFixture,
  type DictionaryServerOptions,
} from '../../support/autocomplete/dictionary-fixture';
import { DictionaryHistory } from '../../support/autocomplete/dictionary-history';
import { profileOf, scripts, stepOf } from '../../support/autocomplete/dictionary-texts';
import { EntriesFixture, PROFILE } from '../../support/autocomplete/entries-fixture';
import { EntriesHistory, stepsOf } from '../../support/autocomplete/entries-history';
import { assertWithinTime, HISTORIES } from '../../support/timed-property';

const STEPS = 40;
/** Nearly every write makes a layer or a merge, and another thread builds nearly every layer. */
const TINY_LAYERS: DictionaryServerOptions = { layerLimits: { firstLayerBytes: 1, mostBytesHere: 40 } };

/** One of twenty variants: the writing systems, each with two sizes of layers. */
const VARIANT = HISTORIES / 10;

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
      await assertWithinTime(
        fc.asyncProperty(profileOf, steps, async (profile, history) => {
          const world = await DictionaryHistory.begin(fixture, profile);
          for (const step of history) await world.step(step);
          await world.end();
        }),
        { weight: VARIANT },
      );
    },
  );

  it('has no defect outside of calls', () => {
    expect(fixture.defects).toEqual([]);
  });
});

describe('a dictionary of entries after random steps of two servers with faults', () => {
  let fixture: EntriesFixture;
  beforeAll(async () => {
    fixture = await EntriesFixture.open();
  });
  afterAll(() => fixture?.close());

  it.each([
    ['the usual feed', false],
    ['a feed of 20 kB, so that writers let imports follow', true],
  ])('equals the model, leaves no key, and has exact counts, with %s', async (_, hasSmallFeed) => {
    await assertWithinTime(
      fc.asyncProperty(stepsOf, async (steps) => {
        const history = new EntriesHistory(fixture, fixture.name(), hasSmallFeed);
        await fixture.store.create(history.name, PROFILE);
        for (const step of steps) await history.step(step);
        await history.end();
      }),
      { weight: HISTORIES },
    );
  });
});
