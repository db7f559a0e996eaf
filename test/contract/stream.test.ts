import { setTimeout as sleep } from 'node:timers/promises';
import { LossCause, type HoldEvent } from '../../generated/typescript/holdfast/v1/lease';
import type { HoldLockResponse } from '../../generated/typescript/holdfast/v1/lock_service';
import type { Call } from '../../src/engine/call';
import type { HoldSink } from '../../src/engine/leases/requests';
import { HoldfastError } from '../../src/engine/errors';
import { eventually } from '../support/eventually';
import { someLease } from './fake-engine';
import { acquireRequest, Harness, UUID_V4 } from './harness';

let harness: Harness;
let client: ReturnType<Harness['locks']>;
beforeAll(async () => {
  harness = await Harness.start();
  client = harness.locks();
});
afterAll(() => harness.close());

interface OpenHold {
  readonly call: Call;
  readonly sink: HoldSink;
  readonly end: (error?: Error) => void;
}

/** Opens a HoldLock, and gives the engine's side of it into the test's hands. */
async function open() {
  let opened: OpenHold | undefined;
  harness.engine.onHold = (call, _start, sink) =>
    new Promise((resolve, reject) => {
      opened = { call, sink, end: (error) => (error ? reject(error) : resolve()) };
    });
  const stream = client.holdLock({
    start: { $case: 'acquire', value: acquireRequest({ requestId: UUID_V4 }) },
  });
  const engine = await eventually('the stream to open', () => opened);
  return { stream, engine };
}

type Stream = ReturnType<typeof client.holdLock>;
type Event = NonNullable<HoldEvent['event']>;

/** Reads to the end of the stream; not before the test resumes it, where it has paused it. */
function read(stream: Stream): Promise<Event[]> {
  const events: Event[] = [];
  return new Promise((resolve) => {
    stream.on('data', (message: HoldLockResponse) => {
      if (message.holdEvent?.event) events.push(message.holdEvent.event);
    });
    stream.on('error', () => undefined);
    stream.on('end', () => resolve(events));
  });
}

/** Far more than the windows of HTTP/2 and the buffers on the way take while nobody reads. */
const FLOOD = 60_000;

async function flood(engine: OpenHold): Promise<void> {
  for (let sent = 1; sent <= FLOOD; sent++) {
    engine.sink.send({ kind: 'renewed', expireOffsetMs: sent });
    // Lets the sockets do their part, as the time between real events does.
    if (sent % 1000 === 0) await sleep(1);
  }
}

describe('a client that reads slowly', () => {
  test('misses events that newer ones made stale, and no step of the lease', async () => {
    const { stream, engine } = await open();
    const reading = read(stream.pause());
    engine.sink.send({ kind: 'granted', lease: someLease });
    await flood(engine);
    engine.sink.send({ kind: 'renewal-failed', expireOffsetMs: FLOOD + 1, cause: 'store-unavailable' });
    engine.sink.send({ kind: 'lost', cause: 'expired' });
    // With an error grpc-js's client throws away what its user has not read yet; the server's part is the same.
    engine.end();
    await sleep(50);
    stream.resume();
    const events = await reading;
    expect(events[0]?.$case).toBe('granted');
    expect(events.at(-1)).toEqual({ $case: 'lost', value: { cause: LossCause.LOSS_CAUSE_EXPIRED } });
    // The newest word on the lease's end is there, and what it made stale is not.
    expect(events.at(-2)?.$case).toBe('renewalFailed');
    expect(events.length).toBeLessThan(FLOOD / 2);
    expect(events.length).toBeGreaterThan(10);
    const offsets = events.flatMap((event) =>
      event.$case === 'renewed' ? [Number(event.value.expireOffset?.seconds)] : [],
    );
    expect(offsets).toEqual([...offsets].sort((a, b) => a - b));
  });

  test('gets what was kept for it as soon as it reads again', async () => {
    const { stream, engine } = await open();
    const reading = read(stream.pause());
    await flood(engine);
    stream.resume();
    await sleep(100);
    engine.sink.send({ kind: 'granted', lease: someLease });
    engine.sink.send({ kind: 'released' });
    engine.end();
    const events = await reading;
    const renewed = events.filter((event) => event.$case === 'renewed');
    expect(renewed.at(-1)?.value.expireOffset).toEqual({
      seconds: BigInt(Math.trunc(FLOOD / 1000)),
      nanos: (FLOOD % 1000) * 1e6,
    });
    expect(events.slice(-2).map(({ $case }) => $case)).toEqual(['granted', 'released']);
  });

  test('and goes away leaves nothing that waits for it', async () => {
    const { stream, engine } = await open();
    let cancelled = 0;
    engine.call.onCancelled(() => (cancelled += 1));
    stream.pause();
    stream.on('error', () => undefined);
    await flood(engine);
    stream.cancel();
    await eventually('the cancel to arrive', () => cancelled === 1);
    // The engine may not have heard yet: what it still sends is for nobody.
    engine.sink.send({ kind: 'renewed', expireOffsetMs: 1 });
    engine.end(new HoldfastError('SUPERSEDED', 'late'));
    await sleep(20);
    engine.sink.send({ kind: 'released' });
    expect(harness.logged).toEqual([]);
  });
});

test('events after the end of the stream go nowhere', async () => {
  const { stream, engine } = await open();
  const reading = read(stream);
  engine.sink.send({ kind: 'granted', lease: someLease });
  engine.end();
  expect((await reading).map(({ $case }) => $case)).toEqual(['granted']);
  engine.sink.send({ kind: 'renewed', expireOffsetMs: 1 });
  await sleep(20);
  expect(harness.logged).toEqual([]);
});
