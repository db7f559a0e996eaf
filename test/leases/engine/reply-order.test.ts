import { EngineFixture, type Pending } from '../../support/leases/engine-fixture';
import { ManualClock } from '../../support/manual-clock';
import { ModelWorld, type ModelStore } from '../../support/leases/model-store';

const HELLO = { service: 'lock', name: 'hello' } as const;
const id = (n: number) => `0190a0a0-0000-7000-8000-${String(n).padStart(12, '0')}`;
const [REQUEST, OTHER] = [id(1), id(2)];
const LATE_MS = 20;

type Unary = Pending<{ leaseId: string }>;
type Stream = Pending<void>;

/** Calls of one request are on one server, and the server handles replies in another order than the store has made them. */
describe('two streams of one request on one server', () => {
  let clock: ManualClock;
  let world: ModelWorld;
  let on: EngineFixture<ModelStore>;
  let elsewhere: EngineFixture<ModelStore>;
  beforeEach(() => {
    clock = new ManualClock(1_000_000);
    world = new ModelWorld(clock);
    on = new EngineFixture(clock, world.store('s1'), {}, 's1');
    elsewhere = new EngineFixture(clock, world.store('s2'), {}, 's2');
  });

  /** The reply to the next command with this verb is late. */
  function delayReply(verb: string, ms = LATE_MS): void {
    world.replyMsOf = (sent) => {
      if (sent !== verb) return undefined;
      world.replyMsOf = () => undefined;
      return ms;
    };
  }

  async function holder(server = on): Promise<Unary> {
    const unary = server.acquire({ requestId: OTHER });
    await clock.advance(0);
    return unary;
  }

  function release({ call, value }: Unary, server = on): void {
    void server.permits.release(call, 'lock', value.leaseId);
  }

  async function waiting(server = on): Promise<Stream> {
    const stream = server.hold({ requestId: REQUEST });
    await clock.advance(1);
    expect(stream.sink.kinds).toEqual(['queued']);
    return stream;
  }

  async function granted(server = on): Promise<Stream> {
    const stream = server.hold({ requestId: REQUEST });
    await clock.advance(0);
    expect(stream.sink.kinds).toEqual(['granted']);
    return stream;
  }

  const leaseIdOf = ({ sink }: Stream): string => {
    const [first] = sink.events.flatMap((event) => (event.kind === 'granted' ? [event.lease.leaseId] : []));
    return first ?? '';
  };

  /** Expects that the stream holds the lease alone, and that the lease is renewed for as long as the stream is open. */
  async function expectOnlyHolder(stream: Stream, server = on): Promise<void> {
    expect(server.permits.stats()).toMatchObject({ heldCount: 1, waitingCount: 0 });
    expect(world.model(HELLO).in('held')).toHaveLength(1);
    await clock.advance(60_000);
    expect(stream.outcome).toBe('waiting');
    expect(stream.sink.kinds.at(-1)).toBe('renewed');
    expect(world.model(HELLO).in('held')).toHaveLength(1);
    stream.call.cancel();
    for (const engine of [on, elsewhere]) engine.expectRest(true);
  }

  /** Expects that the stream waits alone in the queue, and is granted the lease after its holder. */
  async function expectOnlyWaiter(stream: Stream): Promise<void> {
    expect(stream.outcome).toBe('waiting');
    expect(on.permits.stats()).toMatchObject({ heldCount: 0, waitingCount: 1 });
    await clock.advance(31_000);
    expect(stream.sink.kinds.slice(0, 2)).toEqual(['queued', 'granted']);
    await expectOnlyHolder(stream);
  }

  it('leave the lease to the newer stream if the direct grant to the older stream is handled last', async () => {
    const other = await holder();
    const older = await waiting();
    delayReply('release');
    release(other);
    const newer = await granted();
    await clock.advance(LATE_MS);
    expect(older.outcome).toBe('SUPERSEDED');
    expect(older.sink.kinds).toEqual(['queued']);
    await expectOnlyHolder(newer);
  });

  it('leave the lease to the newer stream if the claim of the older stream is answered last', async () => {
    const other = await holder(elsewhere);
    const older = await waiting();
    delayReply('claim');
    release(other, elsewhere);
    // The hint takes a turn.
    for (let turn = 0; turn < 3; turn += 1) await clock.advance(1);
    expect([older.sink.kinds, world.model(HELLO).in('held').length]).toEqual([['queued'], 1]);
    const newer = await granted();
    await clock.advance(LATE_MS);
    expect(older.outcome).toBe('SUPERSEDED');
    expect(older.sink.kinds).toEqual(['queued']);
    await expectOnlyHolder(newer);
  });

  it('leave the lease to the newer stream if the acquire of the newer stream is answered last', async () => {
    const other = await holder();
    const older = await waiting();
    delayReply('acquire');
    release(other);
    const newer = on.hold({ requestId: REQUEST });
    await clock.advance(0);
    expect([older.sink.kinds.at(-1), newer.sink.kinds]).toEqual(['granted', []]);
    await clock.advance(LATE_MS);
    expect(older.outcome).toBe('SUPERSEDED');
    expect(newer.sink.kinds).toEqual(['granted']);
    await expectOnlyHolder(newer);
  });

  it.each(['renew', 'acquire'])(
    'leave the lease to the call that the store ran last if an attach and an acquire cross, and the %s is answered last',
    async (late) => {
      const leaseId = leaseIdOf(await granted(elsewhere));
      delayReply(late);
      const attached = on.attach(leaseId);
      const acquired = on.hold({ requestId: REQUEST });
      await clock.advance(LATE_MS);
      expect(attached.outcome).toBe('SUPERSEDED');
      await expectOnlyHolder(acquired);
    },
  );

  it('leave the lease to a stream on another server that has taken the lease over between them', async () => {
    const leaseId = leaseIdOf(await granted(elsewhere));
    delayReply('renew');
    const first = on.attach(leaseId);
    delayReply('renew', 2 * LATE_MS);
    const second = on.attach(leaseId);
    await clock.advance(0);
    const last = elsewhere.attach(leaseId);
    await clock.advance(10_000 + 2 * LATE_MS);
    expect([first.outcome, second.outcome]).toEqual(['SUPERSEDED', 'SUPERSEDED']);
    await expectOnlyHolder(last, elsewhere);
  });

  it('end without a lease that nobody renews if the store cannot be asked who speaks', async () => {
    const other = await holder();
    const older = await waiting();
    delayReply('release');
    release(other);
    const newer = await granted();
    world.outcomeOf = (verb) => (verb === 'renew' ? 'not-arrived' : 'answered');
    await clock.advance(LATE_MS);
    expect(older.outcome).toBe('OUTCOME_UNKNOWN');
    world.outcomeOf = () => 'answered';
    await expectOnlyHolder(newer);
  });

  it('give the grant back if the client of the only speaker goes while the store is asked', async () => {
    const leaseId = leaseIdOf(await granted(elsewhere));
    const attached = on.attach(leaseId);
    const acquired = on.hold({ requestId: REQUEST });
    delayReply('renew', 2 * LATE_MS);
    await clock.advance(0);
    acquired.call.cancel();
    attached.call.cancel();
    await clock.advance(2 * LATE_MS);
    expect(acquired.sink.kinds).toEqual([]);
    expect(on.permits.stats()).toMatchObject({ heldCount: 0, givingBackCount: 0 });
  });

  it('learn at once of a release that was answered while the store was asked who speaks', async () => {
    const leaseId = leaseIdOf(await granted(elsewhere));
    const attached = on.attach(leaseId);
    const acquired = on.hold({ requestId: REQUEST });
    delayReply('renew');
    await clock.advance(1);
    expect([attached.sink.kinds, acquired.sink.kinds]).toEqual([['granted'], []]);
    void on.permits.release(attached.call, 'lock', leaseId);
    await clock.advance(LATE_MS);
    expect([attached.outcome, acquired.outcome]).toEqual(['OK', 'OK']);
    expect(acquired.sink.kinds).toEqual(['granted', 'released']);
    for (const engine of [on, elsewhere]) engine.expectRest(true);
  });

  it('keep a lease that was granted after the store had lost the lease of a release that is answered last', async () => {
    const older = await granted();
    delayReply('release');
    void on.permits.release(older.call, 'lock', leaseIdOf(older));
    await clock.advance(1);
    older.call.cancel();
    world.forget();
    const newer = await granted();
    await clock.advance(LATE_MS);
    await expectOnlyHolder(newer);
  });

  it('end the older stream at its next renewal if the reply to the newer stream is lost', async () => {
    const older = await granted();
    world.outcomeOf = (verb) => (verb === 'renew' ? 'reply-lost' : 'answered');
    const newer = on.attach(leaseIdOf(older));
    await clock.advance(0);
    world.outcomeOf = () => 'answered';
    expect([older.outcome, newer.outcome]).toEqual(['waiting', 'OUTCOME_UNKNOWN']);
    await clock.advance(10_000);
    expect(older.outcome).toBe('SUPERSEDED');
    await expectOnlyHolder(await granted());
  });

  it('leave the place to the newer stream if the older stream gave back a late grant before, and is told last', async () => {
    delayReply('acquire', 1100);
    const older = on.hold({ requestId: REQUEST, ttlMs: 1000 });
    await clock.advance(1050);
    await holder(elsewhere);
    delayReply('withdraw');
    await clock.advance(50);
    const newer = await waiting();
    await clock.advance(LATE_MS);
    expect(older.outcome).toBe('SUPERSEDED');
    await expectOnlyWaiter(newer);
  });

  describe('that wait', () => {
    let first: Stream;
    let last: Stream;
    /** Queues two streams. The store runs the acquire of the second stream last, and is answered after these times. */
    const queue = async (replyMs: readonly number[]): Promise<void> => {
      await holder(elsewhere);
      [first, last] = replyMs.map((ms) => {
        delayReply('acquire', ms);
        return on.hold({ requestId: REQUEST });
      }) as [Stream, Stream];
    };

    it.each([[[LATE_MS, 1]], [[1, LATE_MS]]])(
      'leave the place to the stream that the store queued last, with replies after %j ms',
      async (replyMs) => {
        await queue(replyMs);
        await clock.advance(LATE_MS);
        expect(first.outcome).toBe('SUPERSEDED');
        await expectOnlyWaiter(last);
      },
    );

    it.each(['not-arrived', 'reply-lost'] as const)(
      'ask the store again until it answers, if the first claim is %s',
      async (outcome) => {
        await queue([1, LATE_MS]);
        world.outcomeOf = (verb) => (verb === 'claim' ? outcome : 'answered');
        await clock.advance(LATE_MS);
        expect([first.outcome, last.outcome]).toEqual(['waiting', 'waiting']);
        world.outcomeOf = () => 'answered';
        await clock.advance(1000);
        expect(first.outcome).toBe('SUPERSEDED');
        await expectOnlyWaiter(last);
      },
    );

    it('end with DRAINING if the server stops before the store could be asked', async () => {
      await queue([1, LATE_MS]);
      world.outcomeOf = (verb) => (verb === 'claim' ? 'not-arrived' : 'answered');
      await clock.advance(LATE_MS);
      void on.permits.drain();
      await clock.advance(1000);
      expect(last.outcome).toBe('DRAINING');
      on.expectRest(true);
    });
  });
});
