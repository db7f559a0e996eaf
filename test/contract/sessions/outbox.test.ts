import fc from 'fast-check';
import { assertWithinTime } from '../../support/timed-property';
import { CheckedOutbox, type OutboxStep } from './outbox-model';

const steps = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        kind: fc.constant('say' as const),
        id: fc.integer({ min: 1, max: 4 }),
        choice: fc.nat(1000),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.constantFrom<OutboxStep>(
        { kind: 'heartbeat' },
        { kind: 'stop-reading' },
        { kind: 'read' },
        { kind: 'turn' },
      ),
    },
  ),
  { maxLength: 60 },
);

async function live(life: readonly OutboxStep[]): Promise<void> {
  const checked = new CheckedOutbox();
  for (const step of life) await checked.step(step);
  await checked.finish();
}

const say = (choice: number) => ({ kind: 'say', id: 1, choice }) as const;

test('a new ttl reaches a client that reads slowly, also after a failed renewal', async () => {
  await live([
    say(2),
    { kind: 'turn' },
    { kind: 'stop-reading' },
    { kind: 'heartbeat' },
    { kind: 'turn' },
    say(2),
    say(1),
  ]);
});

test('a client gets every event in order, with bounded memory, for any sequence of events, heartbeats and pauses of the reader', async () => {
  await assertWithinTime(steps, live);
});
