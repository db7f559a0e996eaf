import { Reader, ReadingTurns } from '../../src/rpc/entry/reading-turns';

/** The names of the connections, in the order in which reading began again. */
let begun: string[];
let turns: ReadingTurns;
beforeEach(() => {
  begun = [];
  turns = new ReadingTurns();
});

class FakeReader extends Reader {
  readonly isOpen = true;
  readonly isWriting = false;

  constructor(private readonly name: string) {
    super();
  }

  setReading(reading: boolean): void {
    if (reading) begun.push(this.name);
  }
}

function connect(name: string): Reader {
  const reader = new FakeReader(name);
  turns.add(reader);
  return reader;
}

function deliver(reader: Reader, calls: number): void {
  for (let call = 0; call < calls; call += 1) turns.delivered(reader);
}

/** A connection that has delivered few calls for some time. */
function quiet(now: number): Reader {
  const reader = connect('quiet');
  for (let turn = 0; turn < 10; turn += 1) {
    deliver(reader, 1);
    turns.next(now, now);
  }
  return reader;
}

it('reads no busy connection for three times the time of a step, and reads quiet connections all the time', () => {
  const [busy, other] = [connect('busy'), quiet(0)];
  deliver(busy, 100);
  turns.pause();
  expect([busy.isRead, other.isRead]).toEqual([false, true]);
  turns.next(0, 10);
  turns.next(39, 39);
  expect(busy.isRead).toBe(false);
  turns.next(40, 40);
  expect(busy.isRead).toBe(true);
});

it('reads busy connections again in the next step if there is no quiet connection', () => {
  const busy = [connect('a'), connect('b')];
  turns.pause();
  turns.next(0, 10);
  expect(busy.map(({ isRead }) => isRead)).toEqual([true, true]);
});

it('forgets a quiet connection a second after its last call', () => {
  const busy = connect('busy');
  quiet(0);
  turns.pause();
  turns.next(1001, 1010);
  expect(busy.isRead).toBe(true);
});

it('reads the least recently read connection first', () => {
  const [a] = [connect('a'), connect('b'), connect('c')];
  deliver(a, 100);
  turns.pause();
  turns.next(0, 10);
  expect(begun).toEqual(['b', 'c', 'a']);
});

it('reads no other busy connection in the step in which a client has closed its connection', () => {
  const [ended, busy, other] = [connect('ended'), connect('busy'), quiet(0)];
  turns.ended(ended);
  expect([busy.isRead, other.isRead]).toEqual([false, true]);
  turns.next(1, 1);
  expect(busy.isRead).toBe(true);
  turns.ended(other);
  expect(busy.isRead).toBe(true);
});

it('does not read a new connection during a pause', () => {
  connect('busy');
  turns.pause();
  const late = connect('late');
  expect(late.isRead).toBe(false);
  turns.next(0, 1);
  expect(late.isRead).toBe(true);
});

it('reads no busy connection while a thousand calls of all connections have not begun', () => {
  const connections = Array.from({ length: 10 }, (_, at) => connect(`${at}`));
  for (let call = 0; call < 110; call += 1) for (const reader of connections) turns.hold(reader);
  turns.next(0, 0);
  expect(connections.filter(({ isRead }) => isRead)).toEqual([]);
  for (let call = 0; call < 60; call += 1) for (const reader of connections) turns.release(reader);
  turns.next(0, 0);
  expect(connections.filter(({ isRead }) => !isRead)).toEqual([]);
});

it('treats a connection as quiet after some steps with few calls', () => {
  const reader = connect('calm');
  deliver(reader, 500);
  turns.next(0, 0);
  for (let step = 0; step < 10; step += 1) {
    deliver(reader, 2);
    turns.next(0, 0);
  }
  turns.pause();
  expect(reader.isRead).toBe(true);
});

it('pauses hundreds of busy connections for a few milliseconds only, so that a round stays short', () => {
  const connections = Array.from({ length: 500 }, (_, at) => connect(`${at}`));
  quiet(0);
  turns.pause();
  turns.next(0, 100);
  turns.next(104, 104);
  expect(connections.filter(({ isRead }) => !isRead)).toEqual([]);
});
