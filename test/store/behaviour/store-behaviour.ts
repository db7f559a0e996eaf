import { autocompleteBehaviour } from './autocomplete-behaviour';
import { BehaviourFixture } from './behaviour-fixture';
import { grantBehaviour } from './grant-behaviour';
import { limitBehaviour } from './limit-behaviour';
import { lossBehaviour } from './loss-behaviour';
import { queueBehaviour } from './queue-behaviour';
import { renewBehaviour } from './renew-behaviour';
import type { Topology } from './topology';

/** The bound of one behaviour: generous, because a topology has up to seven Redis processes on busy cores. */
const BEHAVIOUR_TIMEOUT_MS = 120_000;

/**
 * The behaviour that every store must show through its ports, in any topology. One test file for each topology calls this
 * function. What depends on one Redis (clocks, keys, lost replies) stays in test/scripts and test/store.
 */
export function storeBehaviour(name: string, openTopology: () => Promise<Topology>): void {
  describe(`the store over ${name}`, () => {
    let fixture: BehaviourFixture | undefined;
    const opened = (): BehaviourFixture => {
      if (fixture === undefined) throw new Error('the fixture is not open');
      return fixture;
    };
    jest.setTimeout(BEHAVIOUR_TIMEOUT_MS);
    beforeAll(async () => {
      const topology = await openTopology();
      try {
        fixture = await BehaviourFixture.open(topology);
      } catch (error) {
        await topology.close();
        throw error;
      }
    });
    afterAll(() => fixture?.close());

    describe('grants', () => grantBehaviour(opened));
    describe('the queue', () => queueBehaviour(opened));
    describe('renewal and release', () => renewBehaviour(opened));
    describe('the limit of a semaphore', () => limitBehaviour(opened));
    describe('recents and dictionaries', () => autocompleteBehaviour(opened));
    // Last, because it empties the store.
    describe('after the loss of all data', () => lossBehaviour(opened));
  });
}
