import { systemClock } from '../../src/base/clock';
import type { EntryCommands } from '../../src/autocomplete/redis/entry-replies';
import { EntryFeed } from '../../src/autocomplete/redis/feed';
import { pack } from '../../src/autocomplete/redis/packing';
import type { RawReply } from '../../src/redis/writer';

const WRITES = 100;

test('decodes many writes in slices, so that other calls run in between', async () => {
  const elements = Array.from({ length: WRITES }, (_, n) =>
    Buffer.concat([pack([`tail ${n}`, `id ${n}`, '0', 'd']), pack([`entry ${n}`])]),
  );
  const reply: RawReply = [
    'OK',
    'kt',
    'generation',
    String(WRITES),
    `tail ${WRITES}`,
    elements,
    `tail ${WRITES}`,
  ];
  type Read = (reply: readonly RawReply[]) => unknown;
  const on = {
    send: (_script: unknown, _name: string, _args: unknown, read: Read) => Promise.resolve(read(reply)),
  };
  let time = 0;
  // Between two looks at the clock, a slice is over.
  const clock = { ...systemClock, now: () => (time += 1) };
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const feed = new EntryFeed(on as unknown as EntryCommands, clock);
  const read = await feed.writesAfter('people', { generationId: 'generation', version: 0, tail: 'tail 0' });
  isDone = true;
  expect(turns).toBeGreaterThanOrEqual(WRITES);
  expect(read).toMatchObject({ kind: 'writes', head: { version: WRITES } });
  const { writes } = read as Extract<typeof read, { kind: 'writes' }>;
  expect(writes.map(({ version, changes }) => [version, changes])).toEqual(
    elements.map((_, n) => [n + 1, [{ kind: 'delete', entryId: `entry ${n}` }]]),
  );
});
