import fc from 'fast-check';
import type { HoldfastError } from '../../src/base/errors';
import { MessageFraming } from '../../src/rpc/entry/framing';
import { type IntakeLimits, UnfinishedRequest, UnfinishedRequests } from '../../src/rpc/entry/unfinished';
import { ManualClock } from '../support/manual-clock';
import { frame } from './raw-call';
import { assertWithinTime } from '../support/timed-property';

describe('unfinished requests', () => {
  const LIMITS: IntakeLimits = {
    smallBytes: 10,
    maxPerConnection: 8,
    maxPerServer: 16,
    maxBytesPerConnection: 200,
    maxBytesPerServer: 300,
    smallTimeoutMs: 10_000,
    largeTimeoutMs: 60_000,
  };

  class Request extends UnfinishedRequest {
    paused = false;
    refusal: HoldfastError | undefined;
    aborted = false;
    statusIsSent = true;

    constructor(readonly countsForConnection = true) {
      super();
    }

    refuse(error: HoldfastError): boolean {
      expect(this.refusal).toBeUndefined();
      this.refusal = error;
      return this.statusIsSent;
    }

    abort(): void {
      this.aborted = true;
    }
  }

  function arena(limits: Partial<IntakeLimits> = {}) {
    const clock = new ManualClock();
    const refusals: number[] = [];
    const requests = new UnfinishedRequests(clock, { ...LIMITS, ...limits }, (count) => refusals.push(count));
    const begin = (connection: object, request = new Request()): Request => {
      requests.begin(request, connection);
      return request;
    };
    /** Begins a message and receives some of its bytes. */
    const receive = (connection: object, announced: number, bytes: number, request = new Request()) => {
      begin(connection, request);
      requests.announce(request, announced);
      if (request.refusal === undefined) requests.grow(request, bytes);
      return request;
    };
    return { clock, refusals, requests, begin, receive };
  }

  const reasons = (list: readonly Request[]) => list.map(({ refusal }) => refusal?.reason);

  test('a connection with too many unfinished requests gets QUOTA_EXCEEDED for new requests only', () => {
    const { begin, requests } = arena();
    const [busy, other] = [{}, {}];
    const all = Array.from({ length: 10 }, () => begin(busy));
    expect(reasons(all)).toEqual([
      ...Array.from({ length: 8 }, () => undefined),
      ...['QUOTA_EXCEEDED', 'QUOTA_EXCEEDED'],
    ]);
    expect(begin(other).refusal).toBeUndefined();
    requests.finish(all[0]!);
    expect(begin(busy).refusal).toBeUndefined();
  });

  test('a server with too many unfinished requests ends the oldest request of the busiest connection', () => {
    const { begin } = arena();
    const innocent = begin({});
    const busy = {};
    const attack = [
      ...Array.from({ length: 8 }, () => begin(busy)),
      ...Array.from({ length: 7 }, () => begin({})),
    ];
    expect(reasons(attack).filter(Boolean)).toEqual([]);
    const late = begin({});
    expect(reasons(attack.slice(0, 3))).toEqual(['OVERLOADED', 'OVERLOADED', undefined]);
    expect(reasons([innocent, late])).toEqual([undefined, undefined]);
  });

  test('large messages of one connection get QUOTA_EXCEEDED by their announced lengths', () => {
    const { receive, requests } = arena();
    const connection = {};
    const first = receive(connection, 150, 1);
    expect(receive(connection, 60, 1).refusal?.reason).toBe('QUOTA_EXCEEDED');
    expect(receive(connection, 10, 10).refusal).toBeUndefined();
    expect(receive({}, 150, 1).refusal).toBeUndefined();
    requests.finish(first);
    expect(receive(connection, 60, 1).refusal?.reason).toBe('QUOTA_EXCEEDED');
    requests.release(first);
    expect(receive(connection, 60, 1).refusal).toBeUndefined();
  });

  test('a server with too many buffered bytes first ends the requests that are marked to end first', () => {
    const { receive } = arena();
    const endingFirst = (): Request => Object.defineProperty(new Request(), 'endsFirst', { value: true });
    const older = receive({}, 100, 100);
    const first = receive({}, 100, 100, endingFirst());
    const second = receive({}, 100, 100, endingFirst());
    const latest = receive({}, 150, 150);
    expect(reasons([older, first, second, latest])).toEqual([
      undefined,
      'OVERLOADED',
      'OVERLOADED',
      undefined,
    ]);
  });

  test('a server with too many buffered bytes ends its oldest large message that its client delays', () => {
    const { receive, requests } = arena();
    const arrived = receive({}, 100, 100);
    requests.finish(arrived);
    const paused = receive({}, 100, 60);
    paused.paused = true;
    const small = receive({}, 10, 10);
    const oldest = receive({}, 100, 100);
    const latest = receive({}, 100, 60);
    expect(reasons([arrived, paused, small, oldest, latest])).toEqual([
      ...[undefined, undefined, undefined],
      ...['OVERLOADED', undefined],
    ]);
  });

  test('a small request ends after 10 s and a large request after 60 s, with QUOTA_EXCEEDED', async () => {
    const { clock, receive, refusals } = arena();
    const [small, large] = [receive({}, 10, 1), receive({}, 100, 1)];
    await clock.advance(10_000);
    expect(reasons([small, large])).toEqual([undefined, undefined]);
    await clock.advance(1000);
    expect(reasons([small, large])).toEqual(['QUOTA_EXCEEDED', undefined]);
    await clock.advance(50_000);
    expect(reasons([small, large])).toEqual(['QUOTA_EXCEEDED', 'QUOTA_EXCEEDED']);
    expect(refusals).toEqual([1, 1]);
  });

  test('hundreds of requests that are too old end in small steps', async () => {
    const { clock, begin } = arena({ maxPerConnection: 1000, maxPerServer: 1000 });
    const connection = {};
    const all = Array.from({ length: 500 }, () => begin(connection));
    const refusedCount = () => all.filter(({ refusal }) => refusal).length;
    await clock.advance(10_999);
    expect(refusedCount()).toBe(0);
    await clock.advance(1);
    expect(refusedCount()).toBeLessThan(100);
    await clock.advance(100);
    expect(refusedCount()).toBe(500);
  });

  test('a request that the server does not read never becomes too old', async () => {
    const { clock, begin } = arena();
    const connection = {};
    const [paused, young] = [begin(connection), begin(connection)];
    paused.paused = true;
    await clock.advance(60_000);
    expect(reasons([paused, young])).toEqual([undefined, 'QUOTA_EXCEEDED']);
    paused.paused = false;
    await clock.advance(5000);
    expect(paused.refusal).toBeUndefined();
    await clock.advance(7000);
    expect(paused.refusal?.reason).toBe('QUOTA_EXCEEDED');
  });

  test('a pause of the whole server makes no request too old', async () => {
    const { clock, begin } = arena();
    const request = begin({});
    await clock.jump(3_600_000);
    expect(request.refusal).toBeUndefined();
  });

  test('a stream is closed within 2 s if its client does not read the status', async () => {
    const { clock, begin } = arena();
    const [stuck, read] = [new Request(), new Request()];
    stuck.statusIsSent = false;
    begin({}, stuck);
    begin({}, read);
    await clock.advance(11_000);
    expect(stuck.aborted).toBe(false);
    await clock.advance(2000);
    expect([stuck.aborted, read.aborted]).toEqual([true, false]);
  });

  test('no timer runs without a request', async () => {
    const { clock, begin, requests } = arena();
    expect(clock.timerCount).toBe(0);
    const request = begin({});
    expect(clock.timerCount).toBe(1);
    requests.release(request);
    await clock.advance(2000);
    expect(clock.timerCount).toBe(0);
  });

  test('no timer runs after the close', () => {
    const { clock, begin, requests } = arena();
    begin({});
    requests.close();
    begin({});
    expect(clock.timerCount).toBe(0);
  });

  type Step = readonly [
    kind: 'begin' | 'grow' | 'finish' | 'release' | 'advance',
    which: number,
    size: number,
  ];
  const step = fc.tuple(
    fc.constantFrom<Step[0][]>(
      'begin',
      'begin',
      'begin',
      'grow',
      'grow',
      'grow',
      'finish',
      'release',
      'advance',
    ),
    fc.nat(100),
    fc.nat(120),
  );

  test('the bounds hold after every step, and all counts return to zero', async () => {
    await assertWithinTime(
      fc.asyncProperty(fc.array(step, { maxLength: 150 }), async (steps) => {
        const { clock, requests } = arena();
        const connections = [{}, {}, {}];
        const open: Request[] = [];
        const connectionOf = new Map<Request, object>();
        const arrived = new Set<Request>();
        for (const [kind, which, size] of steps) {
          const request = open[which % Math.max(1, open.length)];
          if (kind === 'begin') {
            const begun = new Request(which % 2 === 0);
            connectionOf.set(begun, connections[which % 3]!);
            requests.begin(begun, connections[which % 3]!);
            requests.announce(begun, size);
            open.push(begun);
          } else if (kind === 'advance') {
            await clock.advance(size * 100);
          } else if (request !== undefined && request.refusal === undefined) {
            if (kind === 'grow' && !arrived.has(request)) requests.grow(request, size);
            if (kind === 'finish') requests.finish(request);
            if (kind === 'release') requests.release(request);
            if (kind !== 'grow') arrived.add(request);
          }
          const alive = open.filter(({ refusal, account }) => refusal === undefined && account !== undefined);
          const unfinished = alive.filter((one) => !arrived.has(one));
          const bytes = alive.reduce((sum, { bufferedBytes }) => sum + bufferedBytes, 0);
          expect(requests.stats()).toEqual({ requests: unfinished.length, bufferedBytes: bytes });
          expect(unfinished.length).toBeLessThanOrEqual(LIMITS.maxPerServer);
          const large = unfinished.filter(({ bufferedBytes }) => bufferedBytes > 0);
          for (const connection of connections) {
            const own = unfinished.filter((one) => connectionOf.get(one) === connection);
            expect(own.length).toBeLessThanOrEqual(LIMITS.maxPerConnection);
          }
          if (large.length > 0) expect(bytes).toBeLessThanOrEqual(LIMITS.maxBytesPerServer);
        }
        for (const request of open) requests.release(request);
        expect(requests.stats()).toEqual({ requests: 0, bufferedBytes: 0 });
        await clock.advance(5000);
        expect(clock.timerCount).toBe(0);
      }),
    );
  });
});

describe('message framing', () => {
  class Observer {
    readonly lengths: number[] = [];
    grown = 0;
    atLength: () => void = () => undefined;

    onLength(bytes: number): void {
      this.lengths.push(bytes);
      this.atLength();
    }

    onGrowth(bytes: number): void {
      this.grown += bytes;
    }
  }

  /** Cuts the data at all of these offsets. */
  function piecesOf(data: Buffer, cuts: readonly number[]): Buffer[] {
    const offsets = [...new Set([0, ...cuts.map((cut) => cut % (data.length + 1)), data.length])];
    offsets.sort((a, b) => a - b);
    return offsets.slice(1).map((end, index) => data.subarray(offsets[index], end));
  }

  /** Lengths around the bound above which a message has pages of its own. */
  const longMessage = fc
    .tuple(fc.integer({ min: 65_520, max: 140_000 }), fc.nat(255))
    .map(([length, seed]) => {
      return Uint8Array.from({ length }, (_, index) => (index * 31 + seed) % 256);
    });
  const message = fc.oneof({ weight: 5, arbitrary: fc.uint8Array({ maxLength: 5000 }) }, longMessage);
  const messages = fc.array(message, { maxLength: 6 });
  const cuts = fc.array(fc.nat(), { maxLength: 20 });

  test('the messages are the same for any division of the data', () => {
    assertWithinTime(
      fc.property(messages, cuts, (sent, offsets) => {
        const observer = new Observer();
        const framing = new MessageFraming(observer);
        const frames = sent.map((message) => frame(message));
        const received = piecesOf(Buffer.concat(frames), offsets).flatMap((piece) => framing.write(piece));
        expect(received.map((one) => one.toString('base64'))).toEqual(
          frames.map((one) => one.toString('base64')),
        );
        expect(observer.lengths).toEqual(sent.map(({ length }) => length));
        expect(framing.partial).toBe(false);
      }),
    );
  });

  test('the buffer of an unfinished message is at most twice as large as the received bytes', () => {
    const lengths = fc.integer({ min: 1, max: 2 ** 31 });
    assertWithinTime(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1 }),
        lengths,
        (sizes, length) => {
          const observer = new Observer();
          const framing = new MessageFraming(observer);
          const head = Buffer.alloc(5);
          head.writeUInt32BE(length, 1);
          framing.write(head);
          let sent = 5;
          for (const size of sizes) {
            if (sent + size >= length) break;
            framing.write(Buffer.alloc(size));
            sent += size;
          }
          if (length > sent) expect(observer.grown).toBeLessThanOrEqual(Math.max(1024, 2 * sent));
        },
      ),
    );
  });

  test('an unfinished message does not keep the memory of the received pieces', () => {
    const framing = new MessageFraming(new Observer());
    const piece = frame(Buffer.from('hello'));
    framing.write(piece.subarray(0, 7));
    piece.fill(0, 0, 7);
    const [message] = framing.write(piece.subarray(7));
    expect(message).toEqual(frame(Buffer.from('hello')));
  });

  test('a framing that is stopped at a length returns no message', () => {
    const observer = new Observer();
    const framing = new MessageFraming(observer);
    observer.atLength = () => {
      if (observer.lengths.length === 2) framing.stop();
    };
    const one = frame(Buffer.from('hello'));
    expect(framing.write(Buffer.concat([one, one, one]))).toEqual([]);
    expect(framing.write(one)).toEqual([]);
    expect(framing.partial).toBe(false);
    expect(observer.lengths).toEqual([5, 5]);
  });
});
