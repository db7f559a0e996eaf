import { EntriesFixture, PROFILE } from './entries-fixture';
import { EntriesHistory, stepsOf } from './entries-history';
import { assertWithinTime, type PropertyLimits } from './timed-property';

/** Compares the store of entries with a simple model over random histories of two servers with faults. */
export function describeEntriesProperties(limits: PropertyLimits): void {
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
        stepsOf,
        async (steps) => {
          const history = new EntriesHistory(fixture, fixture.name(), hasSmallFeed);
          await fixture.store.create(history.name, PROFILE);
          for (const step of steps) await history.step(step);
          await history.end();
        },
        limits,
      );
    });
  });
}
