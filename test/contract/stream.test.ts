import { setTimeout as sleep } from 'node:timers/promises';
import { LossCause, type HoldEvent } from '../../generated/typescript/holdfast/v1/lease';
import type { HoldLockResponse } from '../../generated/typescript/holdfast/v1/lock_service';
import type { Call } from '../../src/base/call';
import type { HoldSink } from '../../src/leases/lease-requests';
import { HoldfastError } from '../../src/base/errors';
import { eventually } from '../support/eventually';
import { endAfter, someLease } from './fake-engines';
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

/** Opens a HoldLock call. The test plays the engine of this call. */
async function open() {
  let opened: OpenHold | undefined;
  harness.permits.answers.hold = (call, _service, _start, sink) =>
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

/** Reads a stream to its end. A paused stream is read after the test resumes the stream. */
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

/** A number of events that the HTTP/2 windows and all buffers cannot hold while the client does not read. */
const FLOOD = 60_000;

/** Sends renewals with the offsets 1 ms, 2 ms, up to FLOOD, plus half a millisecond that the transport rounds down. */
async function flood(engine: OpenHold): Promise<void> {
  for (let sent = 1; sent <= FLOOD; sent++) {
    engine.sink.send({ kind: 'renewed', end: endAfter(engine.call, sent + 0.5) });
    // The sockets get time to write between the events.
    if (sent % 1000 === 0) await sleep(1);
  }
}

describe('a client that does not read its hold stream', () => {
  test('later gets every state change of its lease, and the newest renewal of many', async () => {
    const { stream, engine } = await open();
    const reading = read(stream.pause());
    engine.sink.send({ kind: 'granted', lease: someLease });
    await flood(engine);
    engine.sink.send({
      kind: 'renewal-failed',
      end: endAfter(engine.call, FLOOD + 1),
      cause: 'store-unavailable',
    });
    engine.sink.send({ kind: 'lost', cause: 'expired' });
    // The stream ends OK, because the client of grpc-js discards unread messages on an error.
    engine.end();
    await sleep(50);
    stream.resume();
    const events = await reading;
    expect(events[0]?.$case).toBe('granted');
    expect(events.at(-1)).toEqual({ $case: 'lost', value: { cause: LossCause.LOSS_CAUSE_EXPIRED } });
    // A newer renewal event replaces an unsent older renewal event.
    expect(events.at(-2)?.$case).toBe('renewalFailed');
    expect(events.length).toBeLessThan(FLOOD / 2);
    expect(events.length).toBeGreaterThan(10);
    const offsets = events.flatMap((event) =>
      event.$case === 'renewed' ? [Number(event.value.expireOffset?.seconds)] : [],
    );
    expect(offsets).toEqual([...offsets].sort((a, b) => a - b));
  });

  test('gets the waiting events and all new events when the client reads again', async () => {
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

  test('causes no error on the server when the client disconnects', async () => {
    const { stream, engine } = await open();
    let cancelled = 0;
    engine.call.onCancelled(() => (cancelled += 1));
    stream.pause();
    stream.on('error', () => undefined);
    await flood(engine);
    stream.cancel();
    await eventually('the cancel to arrive', () => cancelled === 1);
    // The engine may still send events before it learns of the cancellation.
    engine.sink.send({ kind: 'renewed', end: endAfter(engine.call, 1) });
    engine.end(new HoldfastError('SUPERSEDED', 'late'));
    await sleep(20);
    engine.sink.send({ kind: 'released' });
    expect(harness.logged).toEqual([]);
  });
});

test('a hold stream ignores events of the engine after its end', async () => {
  const { stream, engine } = await open();
  const reading = read(stream);
  engine.sink.send({ kind: 'granted', lease: someLease });
  engine.end();
  expect((await reading).map(({ $case }) => $case)).toEqual(['granted']);
  engine.sink.send({ kind: 'renewed', end: endAfter(engine.call, 1) });
  await sleep(20);
  expect(harness.logged).toEqual([]);
});
