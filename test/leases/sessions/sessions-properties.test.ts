import fc from 'fast-check';
import { anAction, outcomes, rate, replyTimes } from '../../support/sessions-together/actions';
import { Scenario } from '../../support/sessions-together/scenario';
import { assertWithinTime, HISTORIES } from '../../support/timed-property';

it('sessions, unary calls and hold streams share names: leases exclude each other, each command has one end, and nothing is left', async () => {
  await assertWithinTime(
    fc.asyncProperty(
      fc.record({
        actions: fc.array(anAction, { minLength: 20, maxLength: 60, size: 'max' }),
        outcome: outcomes,
        isLossy: fc.boolean(),
        replyTime: replyTimes,
        isUnordered: fc.boolean(),
        latencyMs: fc.constantFrom(0, 4),
        hints: fc.boolean(),
        rates: fc.array(rate, { minLength: 6, maxLength: 6 }),
        releases: fc.boolean(),
      }),
      async ({ actions, outcome, isLossy, replyTime, isUnordered, releases, ...conditions }) => {
        const next = isLossy ? () => outcome.next().value : undefined;
        const replyMs = isUnordered ? () => replyTime.next().value : undefined;
        const scenario = new Scenario({ ...conditions, outcome: next, replyMs });
        for (const action of actions) await scenario.take(action);
        await scenario.expectRest(releases);
      },
    ),
    { weight: HISTORIES },
  );
});
