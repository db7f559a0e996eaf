import { CommandTurns } from '../../../src/flow/turns';
import { settled } from '../../support/manual-clock';

/** Pushes this many commands for each session. Returns the session of each begun command, in order. */
function pushed(counts: Readonly<Record<string, number>>): string[] {
  const turns = new CommandTurns({ now: () => 0 });
  const begun: string[] = [];
  for (const [name, count] of Object.entries(counts)) {
    const session = { name };
    for (let index = 0; index < count; index += 1) {
      turns.push(session, () => void begun.push(`${name}${index}`));
    }
  }
  return begun;
}

test('the commands of a session begin in their order, at most 32 in a turn of the event loop', async () => {
  const begun = pushed({ a: 70 });
  expect(begun).toEqual([]);
  const counts: number[] = [];
  for (let turn = 0; turn < 4; turn += 1) {
    await settled();
    counts.push(begun.length);
  }
  expect(Math.max(...counts.map((count, turn) => count - (counts[turn - 1] ?? 0)))).toBeLessThanOrEqual(32);
  expect(begun).toEqual(Array.from({ length: 70 }, (_, index) => `a${index}`));
});

test('a session with few commands does not wait for a session with a thousand', async () => {
  const begun = pushed({ a: 1000, b: 2 });
  while (!begun.includes('b1')) await settled();
  expect(begun.length).toBeLessThanOrEqual(64);
});

test('no command begins later than half a millisecond after the first one of its turn', async () => {
  let now = 0;
  const turns = new CommandTurns({ now: () => now });
  const begunAt: number[] = [];
  for (let index = 0; index < 5; index += 1) {
    turns.push(turns, () => {
      begunAt.push(now);
      now += 0.3;
    });
  }
  const counts: number[] = [];
  while (begunAt.length < 5) {
    await settled();
    counts.push(begunAt.length);
  }
  const inOneTurn = counts.map((count, turn) => count - (counts[turn - 1] ?? 0));
  expect(Math.max(...inOneTurn)).toBe(2);
});
