import type { Redis } from 'ioredis';
import { CommandDeadlines, CommandWriter, ScriptCommand } from '../../src/redis/writer';
import { ManualClock, settled } from '../support/manual-clock';

/** A connection that notes which commands leave in one write. */
class FakeConnection {
  corkCount = 0;
  readonly writes: string[][] = [];
  private pending: string[] = [];

  readonly stream = {
    cork: () => (this.corkCount += 1),
    uncork: () => {
      this.corkCount -= 1;
      if (this.corkCount > 0) return;
      this.writes.push(this.pending);
      this.pending = [];
    },
  };

  sendCommand({ name }: { name: string }): Promise<void> {
    this.pending.push(name);
    return Promise.resolve();
  }
}

const clock = new ManualClock();
const deadlines = new CommandDeadlines(clock);
let connection: FakeConnection;
let writer: CommandWriter;
beforeEach(() => {
  connection = new FakeConnection();
  writer = new CommandWriter(() => connection as unknown as Redis, clock, deadlines);
});

function write(name: string, asking = false) {
  const command = new ScriptCommand(name, name, clock.now() + 1000, () => undefined, false);
  return writer.write(command, asking);
}

it('sends the commands of one turn of the event loop in one write', async () => {
  const flushes = [write('first'), write('second')];
  expect(connection.writes).toEqual([]);
  expect(flushes[0]?.at).toBeUndefined();
  await settled();
  expect(connection.writes).toEqual([['first', 'second']]);
  expect(flushes.map(({ at }) => at)).toEqual([clock.now(), clock.now()]);
  expect(connection.corkCount).toBe(0);
});

it('sends the earlier commands of a long turn before a command that comes more than 1 ms later', async () => {
  const first = write('first');
  clock.pass(2);
  const second = write('second');
  expect(connection.writes).toEqual([['first']]);
  expect([first.at, second.at]).toEqual([clock.now(), undefined]);
  await settled();
  expect(connection.writes).toEqual([['first'], ['second']]);
  expect(connection.corkCount).toBe(0);
});

it('sends ASKING directly before its command, in the same write', async () => {
  write('first');
  write('second', true);
  await settled();
  expect(connection.writes).toEqual([['first', 'asking', 'second']]);
});

it('uncorks the old connection when the next command goes to a new connection', async () => {
  const old = connection;
  write('first');
  connection = new FakeConnection();
  write('second');
  await settled();
  expect([old.writes, connection.writes]).toEqual([[['first']], [['second']]]);
  expect([old.corkCount, connection.corkCount]).toEqual([0, 0]);
});
