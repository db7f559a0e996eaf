import { status } from '@grpc/grpc-js';
import {
  AutocompleteServiceService as autocomplete,
  ImportDictionaryRequest,
  PutEntriesRequest,
  SuggestStreamRequest,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import {
  AcquireLockRequest,
  LockServiceService as locks,
} from '../../generated/typescript/holdfast/v1/lock_service';
import { Reader, ReadingTurns } from '../../src/rpc/entry/reading-turns';
import { defaultIntakeLimits, type IntakeLimits } from '../../src/rpc/entry/unfinished';
import { closeAll, eventually } from '../support/eventually';
import { batch, commit, entries, ImportCall, start, suggestRequest } from './autocomplete-calls';
import { acquireRequest, call, Harness } from './harness';
import { frame, RawConnection, type RawStream } from './raw-call';

describe('request intake', () => {
  const MIB = 1024 * 1024;
  const PUT = autocomplete.putEntries.path;
  const ACQUIRE = locks.acquireLock.path;
  const goodBody = frame(AcquireLockRequest.encode(acquireRequest()).finish());

  const closers: (() => unknown)[] = [];
  afterEach(() => closeAll(...closers.splice(0)));

  async function harnessWith(limits: Partial<IntakeLimits> = {}): Promise<Harness> {
    const harness = await Harness.start({ intakeLimits: { ...defaultIntakeLimits, ...limits } });
    closers.push(() => harness.close());
    return harness;
  }

  function connect({ target }: Harness): RawConnection {
    const connection = new RawConnection(target);
    closers.unshift(() => connection.close());
    return connection;
  }

  /** The head of a message of this length, and a part of its bytes. */
  function partOf(length: number, sent: number): Buffer {
    const part = Buffer.alloc(5 + sent);
    part.writeUInt32BE(length, 1);
    return part;
  }

  function send(connection: RawConnection, path: string, body: Buffer): RawStream {
    const opened = connection.open({ path });
    opened.write(body);
    return opened;
  }

  const none = { requests: 0, bufferedBytes: 0 };
  const allReleased = (harness: Harness) =>
    eventually(
      'the counts to be zero',
      () => harness.unfinished.requests + harness.unfinished.bufferedBytes === 0,
    );

  async function expectServed(harness: Harness): Promise<void> {
    const client = harness.locks();
    expect((await call(client, client.acquireLock, acquireRequest())).lease?.name).toBe('hello');
  }

  test.each([
    { path: PUT, accepted: 4 * MIB },
    { path: autocomplete.importDictionary.path, accepted: 4 * MIB },
    { path: autocomplete.deleteEntries.path, accepted: MIB },
    { path: autocomplete.suggest.path, accepted: 65_536 },
    { path: autocomplete.suggestStream.path, accepted: 65_536 },
    { path: ACQUIRE, accepted: 65_536 },
    { path: locks.holdLock.path, accepted: 65_536 },
  ])('$path refuses a message over $accepted bytes when its length arrives', async ({ path, accepted }) => {
    const harness = await harnessWith();
    const connection = connect(harness);
    expect(await send(connection, path, partOf(accepted + 1, 0)).outcome).toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
      reason: 'QUOTA_EXCEEDED',
    });
    const within = send(connection, path, partOf(accepted, 10_000));
    await eventually('the request to be counted', () => harness.unfinished.requests === 1);
    within.cancel();
    await allReleased(harness);
    expect(connection.closed).toBe(false);
  });

  test('200 messages that stop 10 bytes before 4 MiB take at most 32 MiB on one connection', async () => {
    const harness = await harnessWith();
    const connection = connect(harness);
    const body = partOf(4 * MIB, 4 * MIB - 10);
    const streams = Array.from({ length: 200 }, () => send(connection, PUT, body));
    const refused: string[] = [];
    for (const { outcome } of streams) void outcome.then(({ reason = '' }) => refused.push(reason));
    await eventually('192 refusals', () => refused.length === 192);
    expect(new Set(refused)).toEqual(new Set(['QUOTA_EXCEEDED']));
    await eventually('all of 8 messages', () => harness.unfinished.bufferedBytes > 31 * MIB);
    expect(harness.unfinished.requests).toBe(8);
    expect(harness.unfinished.bufferedBytes).toBeLessThanOrEqual(32 * MIB + 8 * 5);
    await expectServed(harness);
    connection.close();
    await allReleased(harness);
  });

  test('messages of all connections take at most the bytes of the server, and the oldest gets OVERLOADED', async () => {
    const harness = await harnessWith({ maxBytesPerServer: MIB });
    const [first, second] = [connect(harness), connect(harness)];
    const full = partOf(MIB, MIB - 10);
    const oldest = send(first, PUT, full);
    await eventually('the first message', () => harness.unfinished.bufferedBytes > MIB - 100);
    const latest = send(second, PUT, full);
    expect(await oldest.outcome).toMatchObject({ code: status.RESOURCE_EXHAUSTED, reason: 'OVERLOADED' });
    // A small call that arrives in two pieces is not refused, although no bytes are left.
    await eventually('the second message', () => harness.unfinished.bufferedBytes > MIB - 100);
    const small = send(connect(harness), ACQUIRE, goodBody.subarray(0, 7));
    await eventually('the small message', () => harness.unfinished.requests === 2);
    small.write(goodBody.subarray(7));
    small.end();
    expect((await small.outcome).code).toBe(status.OK);
    latest.cancel();
    await allReleased(harness);
  });

  test('a complete large request counts until its answer', async () => {
    const harness = await harnessWith();
    let answer: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => {
      harness.autocomplete.answers.putEntries = () =>
        new Promise((done) => {
          answer = done;
          resolve();
        });
    });
    const list = entries(1000).map((small) => ({ ...small, payload: Buffer.alloc(1000) }));
    const body = frame(PutEntriesRequest.encode({ dictionary: 'towns', entries: list }).finish());
    const put = connect(harness).call({ path: PUT, body });
    await asked;
    expect(harness.unfinished).toEqual({ requests: 0, bufferedBytes: body.length - 5 });
    answer();
    expect((await put).code).toBe(status.OK);
    await allReleased(harness);
  });

  test('calls without a half-close are bounded for each connection', async () => {
    const harness = await harnessWith({ maxPerConnection: 100 });
    const connection = connect(harness);
    const outcomes = Array.from({ length: 150 }, () => send(connection, ACQUIRE, goodBody).outcome);
    const refused: (string | undefined)[] = [];
    for (const outcome of outcomes) void outcome.then(({ reason }) => refused.push(reason));
    await eventually('50 refusals', () => refused.length === 50);
    expect(new Set(refused)).toEqual(new Set(['QUOTA_EXCEEDED']));
    expect(harness.unfinished.requests).toBe(100);
    expect(harness.permits.calls).toEqual([]);
    await expectServed(harness);
  });

  test('calls without a half-close are bounded for the server, and the busiest connection loses its oldest call', async () => {
    const harness = await harnessWith({ maxPerServer: 100 });
    const innocent = connect(harness).open({ path: ACQUIRE });
    await eventually('the innocent call', () => harness.unfinished.requests === 1);
    const connection = connect(harness);
    const ended: (string | undefined)[] = [];
    for (let sent = 0; sent < 150; sent++) {
      void connection.open({ path: ACQUIRE }).outcome.then(({ reason }) => ended.push(reason));
    }
    await eventually('51 refusals', () => ended.length >= 51);
    expect(new Set(ended)).toEqual(new Set(['OVERLOADED']));
    innocent.write(goodBody);
    innocent.end();
    expect((await innocent.outcome).code).toBe(status.OK);
  });

  test('a request that does not arrive in time ends with QUOTA_EXCEEDED', async () => {
    const harness = await harnessWith({ smallTimeoutMs: 1000, largeTimeoutMs: 2000 });
    const connection = connect(harness);
    const slow = [
      connection.open({ path: ACQUIRE }),
      send(connection, ACQUIRE, goodBody),
      send(connection, ACQUIRE, goodBody.subarray(0, 7)),
      send(connection, locks.holdLock.path, goodBody.subarray(0, 2)),
      send(connection, PUT, partOf(4 * MIB, 100_000)),
      send(connection, autocomplete.suggestStream.path, goodBody.subarray(0, 7)),
      send(connection, autocomplete.importDictionary.path, partOf(4 * MIB, 100_000)),
    ];
    for (const { outcome } of slow) {
      expect(await outcome).toMatchObject({ code: status.RESOURCE_EXHAUSTED, reason: 'QUOTA_EXCEEDED' });
    }
    expect(connection.closed).toBe(false);
    await allReleased(harness);
    expect(harness.autocomplete.verbs).not.toContain('commit');
  });

  test('a SuggestStream stays open between complete messages', async () => {
    const harness = await harnessWith({ smallTimeoutMs: 1000 });
    const connection = connect(harness);
    const query = frame(SuggestStreamRequest.encode({ queryId: 1n, suggest: suggestRequest() }).finish());
    const idle = send(connection, autocomplete.suggestStream.path, query);
    // The slow call begins later, so the stream is older than the time limit when the slow call ends.
    expect((await send(connection, ACQUIRE, goodBody.subarray(0, 7)).outcome).reason).toBe('QUOTA_EXCEEDED');
    idle.write(query);
    idle.end();
    expect((await idle.outcome).code).toBe(status.OK);
  });

  test('the server closes a stream that the client does not close after the answer', async () => {
    const harness = await harnessWith({ smallTimeoutMs: 1000 });
    const connection = connect(harness);
    const batchFirst = frame(ImportDictionaryRequest.encode({ part: batch([]) }).finish());
    const refused = send(connection, autocomplete.importDictionary.path, batchFirst);
    expect(await refused.outcome).toMatchObject({ code: status.INVALID_ARGUMENT, reason: 'INVALID_FIELD' });
    await allReleased(harness);
  });

  test('five concurrent imports with batches of almost 4 MiB on one connection succeed', async () => {
    const harness = await harnessWith();
    const client = harness.completions();
    const large = entries(900).map((small) => ({
      ...small,
      payload: Buffer.alloc(1024),
      aliases: Array.from({ length: 7 }, () => 'x'.repeat(500)),
    }));
    const bytes = ImportDictionaryRequest.encode({ part: batch(large) }).finish().length;
    expect(bytes).toBeGreaterThan(3.9 * MIB);
    expect(bytes).toBeLessThan(4 * MIB);
    const imports = Array.from({ length: 5 }, () =>
      new ImportCall(client).all(start, batch(large), batch(large), commit(1800)),
    );
    for (const answer of await Promise.all(imports)) expect(answer.dictionary?.name).toBe('towns');
    await allReleased(harness);
    expect(harness.logged).toEqual([]);
  });

  test('no request is counted after calls that arrived completely', async () => {
    const harness = await harnessWith();
    const connection = connect(harness);
    // 200 calls at once would be OVERLOADED on a busy machine.
    for (let group = 0; group < 10; group += 1) {
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, () => connection.call({ path: ACQUIRE, body: goodBody })),
      );
      expect(new Set(outcomes.map(({ code }) => code))).toEqual(new Set([status.OK]));
    }
    await allReleased(harness);
    expect(harness.unfinished).toEqual(none);
  });
});

describe('reading turns', () => {
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
});
