import { runRound, type RoundOutcome } from './round';
import { planRound } from './plan';
import { tallyRound } from './report/tally';
import { failureText } from './report/text';
import { RunTally } from './report/run-report';
import type { FaultName } from './nemesis/faults';

/** The environment variable HOLDFAST_TEST_SEED selects another round. */
const SEED = Number(process.env['HOLDFAST_TEST_SEED'] ?? 20261121);
/** The faults of the short round. `npm run test:faults` draws from all faults. */
const FAULTS: readonly FaultName[] = ['reply-dropped', 'scripts-flushed', 'commands-cut', 'clients-killed'];

let outcome: RoundOutcome;

beforeAll(async () => {
  outcome = await runRound(
    planRound({
      seed: SEED,
      topology: 'one',
      faults: FAULTS,
      canStepClocks: false,
      trafficMs: 3000,
      pace: 'often',
      size: 'small',
    }),
  );
}, 40_000);

test('a short round of the fault suite ends without a violation', () => {
  const failed = new RunTally({ seed: SEED, topology: 'one', commit: 'here' }).add(outcome);
  expect(failed === undefined ? '' : failureText(failed)).toBe('');
});

test('a short round of the fault suite has many operations, many grants, and faults with an effect', () => {
  const { operations, grants, faults } = tallyRound(outcome);
  expect(operations).toBeGreaterThan(40);
  expect(grants).toBeGreaterThan(20);
  expect(faults.reduce((sum, { counted }) => sum + counted, 0)).toBeGreaterThan(0);
});
