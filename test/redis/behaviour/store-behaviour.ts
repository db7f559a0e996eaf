import { autocompleteBehaviour, entriesBehaviour } from './autocomplete-behaviour';
import { BehaviourFixture, type Topology } from './behaviour-fixture';
import { grantBehaviour, queueBehaviour, renewBehaviour } from './grant-behaviour';
import {
  limitBehaviour,
  listBehaviour,
  lossBehaviour,
  revokeBehaviour,
  watchBehaviour,
} from './limit-behaviour';

/** The time limit of one test. A topology has up to seven Redis processes on busy cores. */
const BEHAVIOUR_TIMEOUT_MS = 120_000;

/**
 * The behaviour that every store must show through its ports, in any topology. One test file for each topology calls
 * this function. Tests that need a single Redis (clocks, keys, lost replies) belong beside this folder or in the
 * folders of the products.
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

    describe('on an acquire', () => grantBehaviour(opened));
    describe('with waiters in the queue', () => queueBehaviour(opened));
    describe('on a renewal or release', () => renewBehaviour(opened));
    describe('with a semaphore', () => limitBehaviour(opened));
    describe('with watches', () => watchBehaviour(opened));
    describe('on a revocation', () => revokeBehaviour(opened));
    describe('on a list', () => listBehaviour(opened));
    describe('with recents and dictionaries', () => autocompleteBehaviour(opened));
    describe('with entries of dictionaries', () => entriesBehaviour(opened));
    // This suite runs last, because it empties the store.
    describe('after the loss of all data', () => lossBehaviour(opened));
  });
}
