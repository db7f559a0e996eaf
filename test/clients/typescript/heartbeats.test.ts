import { status } from '@grpc/grpc-js';
import type { CallChannel } from '../../../clients/typescript/calls/call-channel';
import { HoldfastError, NoSuchSemaphoreError, NotAllowedError } from '../../../clients/typescript/errors';
import { SemaphoreLimits } from '../../../clients/typescript/leases/semaphore-limits';
import { pauseBeforeAttach, pauseBeforeRepeat, pauseBeforeSession } from '../../../clients/typescript/pauses';
import type { Acquire } from '../../../clients/typescript/sessions/acquire-intent';
import { Belief } from '../../../clients/typescript/sessions/belief';
import { HeartbeatPlan } from '../../../clients/typescript/sessions/heartbeat-plan';
import { HeartbeatRecord } from '../../../clients/typescript/sessions/heartbeat-record';
import type { Lease } from '../../../clients/typescript/sessions/lease';

describe('the belief in a lease', () => {
  test('keeps the latest deadline', () => {
    const belief = new Belief(100);
    belief.confirm(300, 50);
    belief.confirm(200, 60);
    expect(belief.deadline).toBe(300);
  });

  test('stays over when a renewal is read after the deadline', () => {
    const belief = new Belief(100);
    belief.confirm(300, 100);
    expect([belief.isOver(101), belief.deadline]).toEqual([true, 100]);
  });

  test('never returns after its end', () => {
    const belief = new Belief(100);
    belief.end();
    belief.confirm(300, 50);
    expect(belief.isOver(51)).toBe(true);
  });
});

describe('the record of heartbeats', () => {
  test('gives the time of the named heartbeat, and forgets the earlier ones', () => {
    const record = new HeartbeatRecord();
    for (const t0 of [10, 20, 30]) record.send(t0);
    expect(record.answer(2)).toBe(20);
    expect(record.answer(2)).toBe(20);
    expect(record.answer(1)).toBeUndefined();
    expect(record.answer(4)).toBeUndefined();
  });

  test('knows since when a heartbeat has no answer', () => {
    const record = new HeartbeatRecord();
    expect(record.unansweredSince).toBeUndefined();
    for (const t0 of [10, 20, 30]) record.send(t0);
    expect(record.unansweredSince).toBe(10);
    record.answer(2);
    expect([record.unansweredSince, record.lastSentAt]).toEqual([30, 30]);
    record.answer(3);
    expect(record.unansweredSince).toBeUndefined();
  });

  test('keeps at most 1,000 heartbeats', () => {
    const record = new HeartbeatRecord();
    for (let n = 1; n <= 1001; n++) record.send(n);
    expect([record.answer(1), record.answer(2)]).toEqual([undefined, 2]);
  });
});

describe('the plan of heartbeats', () => {
  const started = () => {
    const plan = new HeartbeatPlan();
    plan.started(15_000);
    plan.interval(5000);
    return plan;
  };

  test.each([
    [Infinity, 5000, 15_000],
    [120_000, 5000, 15_000],
    [30_000, 5000, 7500],
    [6000, 1000, 1500],
  ])('with a shortest ttl of %d ms: every %d ms, and patient for %d ms', (ttl, period, patience) => {
    const plan = started();
    expect([plan.periodMs(ttl), plan.patienceMs(ttl)]).toEqual([period, patience]);
  });

  test('wakes for the judgement if it comes before the next heartbeat', () => {
    const plan = started();
    expect(plan.wakeAt(1000, undefined, 6000)).toBe(2000);
    expect(plan.wakeAt(1000, 0, 6000)).toBe(1500);
  });

  test('judges a server by the earliest heartbeat without an answer', () => {
    const plan = started();
    expect(plan.isSilent(1499, 0, 6000)).toBe(false);
    expect(plan.isSilent(1500, 0, 6000)).toBe(true);
    expect(plan.isSilent(1e9, undefined, 6000)).toBe(false);
  });

  test('gives the server one more period if this process was itself stopped', () => {
    const plan = started();
    plan.woke(1000, 60_000, 6000);
    expect(plan.isSilent(60_000, 0, 6000)).toBe(false);
    expect(plan.isSilent(61_000, 0, 6000)).toBe(true);
  });

  test('does not take a timer that is less than a period late for a stop', () => {
    const plan = started();
    plan.woke(1000, 1900, 6000);
    expect(plan.isSilent(1900, 0, 6000)).toBe(true);
  });

  test('leaves a first response that does not come within 5 s', () => {
    expect(new HeartbeatPlan().isSilent(5000, 0, Infinity)).toBe(true);
  });
});

describe('the pause before the next session', () => {
  test('is random up to 1 s, or a tenth of the time to the nearest deadline', () => {
    expect(pauseBeforeSession(0, Infinity, undefined, 0.5)).toBe(500);
    expect(pauseBeforeSession(0, 4000, undefined, 0.5)).toBe(200);
    expect(pauseBeforeSession(0, 4000, undefined, 0)).toBe(5);
  });

  test('grows to 5 s while no session starts, without leases', () => {
    expect([1, 2, 3, 20].map((failures) => pauseBeforeSession(failures, Infinity, undefined, 1))).toEqual([
      100, 200, 400, 5000,
    ]);
    expect(pauseBeforeSession(20, 4000, undefined, 1)).toBe(400);
  });

  test('follows the advice of the server before a command is repeated', () => {
    expect(pauseBeforeRepeat(1, 700, 0.5)).toBe(700);
    expect(pauseBeforeRepeat(1, undefined, 0.5)).toBe(50);
    expect(pauseBeforeRepeat(1, 60_000, 0.5)).toBe(5000);
  });

  test('follows the advice of the server, up to 5 s and up to half of the time to the nearest deadline', () => {
    expect(pauseBeforeSession(0, Infinity, 3000, 0)).toBe(3000);
    expect(pauseBeforeSession(0, Infinity, 60_000, 0)).toBe(5000);
    expect(pauseBeforeSession(0, 9000, 60_000, 0)).toBe(4500);
    expect(pauseBeforeSession(0, Infinity, 0, 0.5)).toBe(500);
  });

  test('leaves half of the time to the deadline for the next attach', () => {
    expect(pauseBeforeAttach(20, undefined, 4000, 1)).toBe(2000);
    expect(pauseBeforeAttach(1, 5000, 4000, 0)).toBe(2000);
    expect(pauseBeforeAttach(1, 700, 4000, 0)).toBe(700);
    expect(pauseBeforeAttach(20, 3000, 0, 1)).toBe(5);
  });
});

describe('the limits of semaphores', () => {
  // The warning of another limit. The semaphores have the limit 4, unless a look-up fails.

  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const facts = { reason: '', code: status.UNKNOWN };

  let told: string[];
  let lookUps: string[];
  /** The next look-ups fail with these. */
  let failures: Error[];
  /** The answers wait for this. */
  let gate: Promise<void>;
  let open: () => void;
  let limits: SemaphoreLimits;

  beforeEach(() => {
    [told, lookUps, failures, gate] = [[], [], [], Promise.resolve()];
    const unary = async (_method: unknown, { name }: { name: string }) => {
      lookUps.push(name);
      await gate;
      const failure = failures.shift();
      if (failure) throw failure;
      return { semaphore: { limit: 4 } };
    };
    limits = new SemaphoreLimits({ unary } as unknown as CallChannel, (news) => {
      if (news.kind === 'otherLimit') told.push(`${news.name} ${news.limit}, not ${news.expectedLimit}`);
    });
  });

  function closeGate(): void {
    gate = new Promise((resolve) => (open = resolve));
  }

  async function grant(name: string, initialLimit: number): Promise<void> {
    await limits.acquire({ name, initialLimit } as Acquire, () => Promise.resolve({} as Lease));
  }

  test('each other limit of a name is told once', async () => {
    for (const limit of [9, 9, 4, 8, 4, 9, 8]) {
      await grant('gpu', limit);
      await settled();
    }
    await grant('cpu', 9);
    await settled();
    expect(told).toEqual(['gpu 4, not 9', 'gpu 4, not 8', 'cpu 4, not 9']);
    expect(lookUps).toEqual(['gpu', 'gpu', 'gpu', 'cpu']);
  });

  test('one look-up at a time serves all limits of a name', async () => {
    closeGate();
    for (const limit of [9, 8, 4, 9]) await grant('gpu', limit);
    open();
    await settled();
    expect(told).toEqual(['gpu 4, not 9', 'gpu 4, not 8']);
    expect(lookUps).toEqual(['gpu']);
  });

  test.each([new HoldfastError('silence', facts), new NoSuchSemaphoreError('none', facts)])(
    'a limit is compared by the next grant if the look-up has failed: %s',
    async (failure) => {
      failures = [failure];
      for (let turn = 0; turn < 3; turn++) {
        await grant('gpu', 9);
        await settled();
      }
      expect(told).toEqual(['gpu 4, not 9']);
      expect(lookUps).toHaveLength(2);
    },
  );

  test('a limit that the caller may not read is asked for once', async () => {
    failures = [new NotAllowedError('no', facts)];
    for (const limit of [9, 8, 9]) {
      await grant('gpu', limit);
      await settled();
    }
    expect([told, lookUps]).toEqual([[], ['gpu']]);
  });

  test('10,000 limits are remembered, and no further one is looked up', async () => {
    closeGate();
    for (let limit = 0; limit < 10_000; limit++) await grant('gpu', limit);
    open();
    await settled();
    expect(told).toHaveLength(9_999);
    await grant('gpu', 10_000);
    await grant('cpu', 1);
    await settled();
    expect(told).toHaveLength(9_999);
    expect(lookUps).toEqual(['gpu']);
  });
});
