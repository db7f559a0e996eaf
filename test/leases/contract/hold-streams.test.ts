import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { type HoldEvent, LossCause } from '../../../generated/typescript/holdfast/v1/lease';
import type { HoldLockResponse } from '../../../generated/typescript/holdfast/v1/lock_service';
import {
  type EndQuarantineResponse,
  QuarantineCause,
  StoreState,
} from '../../../generated/typescript/holdfast/v1/server_service';
import type { Call } from '../../../src/base/call';
import { HoldfastError, StoreFailure } from '../../../src/base/errors';
import { quarantined } from '../../../src/leases/lease-errors';
import type { HoldSink } from '../../../src/leases/lease-requests';
import { endAfter, someLease } from '../../contract/fake-engines';
import { acquireRequest, call, failureOf, Harness, UUID_V4 } from '../../contract/harness';
import { eventually } from '../../support/eventually';

describe('hold streams', () => {
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
});

describe('a quarantine', () => {
  let harness: Harness;
  beforeEach(async () => {
    harness = await Harness.start();
  });
  afterEach(() => harness.close());

  const info = () => {
    const client = harness.info();
    return call(client, client.getServerInfo, {});
  };

  const end = (reason: string): Promise<EndQuarantineResponse> => {
    const client = harness.info();
    return call(client, client.endQuarantine, { reason });
  };

  describe('GetServerInfo', () => {
    it.each([
      ['forgotten', QuarantineCause.QUARANTINE_CAUSE_FORGOTTEN],
      ['restarted', QuarantineCause.QUARANTINE_CAUSE_RESTARTED],
      ['clock', QuarantineCause.QUARANTINE_CAUSE_CLOCK],
    ] as const)('shows the remaining time and the cause of a quarantine: %s', async (cause, expected) => {
      expect(await info()).toMatchObject({ storeState: StoreState.STORE_STATE_READY, quarantine: undefined });
      harness.store.setQuarantine({ remainingMs: 12_500, cause });
      expect(await info()).toMatchObject({
        storeState: StoreState.STORE_STATE_QUARANTINED,
        quarantine: { remainingDuration: { seconds: 12n, nanos: 500_000_000 }, cause: expected },
      });
    });

    it('shows UNREACHABLE while the store is both unreachable and in quarantine', async () => {
      harness.store.setQuarantine({ remainingMs: 12_500, cause: 'clock' });
      harness.store.setReachable(false);
      expect((await info()).storeState).toBe(StoreState.STORE_STATE_UNREACHABLE);
    });
  });

  describe('EndQuarantine', () => {
    it('ends the quarantine, and describes the risk in the answer and in the log', async () => {
      harness.store.setQuarantine({ remainingMs: 95_000, cause: 'restarted' });
      const { endedQuarantine, risk } = await end('all workers were stopped');
      expect(endedQuarantine).toEqual({
        remainingDuration: { seconds: 95n, nanos: 0 },
        cause: QuarantineCause.QUARANTINE_CAUSE_RESTARTED,
      });
      expect(risk).toMatch(/95 s more.*two holders.*fencing token/);
      expect(harness.logged).toContainEqual({
        level: 'warn',
        fields: { reason: 'all workers were stopped', cause: 'restarted', remainingMs: 95_000, risk },
        message: 'an operator ended the quarantine',
      });
    });

    it('changes nothing if there is no quarantine', async () => {
      expect(await end('to be sure')).toEqual({ endedQuarantine: undefined, risk: '' });
      expect(harness.logged.filter(({ level }) => level === 'warn')).toEqual([]);
    });

    it.each([
      ['no reason', ''],
      ['a reason that is too long', 'x'.repeat(513)],
      ['a reason with a line break', 'well\nknown'],
    ])('answers INVALID_FIELD to %s', async (_, reason) => {
      harness.store.onEndQuarantine = () => Promise.reject(new Error('the store was called'));
      const error = await failureOf(end(reason));
      expect(error.code).toBe(status.INVALID_ARGUMENT);
      expect(error.metadata.get('holdfast-reason')).toEqual(['INVALID_FIELD']);
      expect(error.details).toContain('reason');
    });

    it.each([
      ['no', 'unavailable', 'STORE_UNAVAILABLE', /nothing was done/],
      ['unknown', 'unavailable', 'OUTCOME_UNKNOWN', /repeat the call/],
      ['unknown', 'unconfirmed', 'OUTCOME_UNKNOWN', /replicas have not confirmed .*repeat the call/],
    ] as const)(
      'tells whether the quarantine was ended when the store fails (ended: %s, %s)',
      async (done, kind, reason, text) => {
        harness.store.onEndQuarantine = () => Promise.reject(new StoreFailure(done, kind));
        const error = await failureOf(end('to be sure'));
        expect(error.code).toBe(status.UNAVAILABLE);
        expect(error.metadata.get('holdfast-reason')).toEqual([reason]);
        expect(error.details).toMatch(text);
      },
    );
  });

  test('the error QUARANTINED has the remaining time in its text and in its pushback', async () => {
    const lock = { service: 'lock', name: 'report' } as const;
    harness.permits.answers.acquire = () => Promise.reject(quarantined(lock, 61_234.5));
    const client = harness.locks();
    const error = await failureOf(call(client, client.acquireLock, acquireRequest()));
    expect(error.code).toBe(status.UNAVAILABLE);
    expect(error.metadata.get('holdfast-reason')).toEqual(['QUARANTINED']);
    expect(error.metadata.get('grpc-retry-pushback-ms')).toEqual(['61235']);
    expect(error.details).toMatch(/lock "report".*61 s more.*\[QUARANTINED\]$/);
  });
});
