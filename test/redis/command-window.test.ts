import fc from 'fast-check';
import type { Priority } from '../../src/flow/fair-queue';
import type { Turn } from '../../src/redis/commands';
import { LatencyLimit } from '../../src/redis/latency-limit';
import { CommandWindow } from '../../src/redis/window';
import { CommandDeadlines } from '../../src/redis/deadlines';
import { ManualClock, settled } from '../support/manual-clock';
import { assertWithinTime } from '../support/timed-property';

describe('the command window', () => {
  /** A store that answers only when the test says so. */
  class SlowStore {
    readonly clock = new ManualClock();
    readonly window = new CommandWindow(this.clock, new CommandDeadlines(this.clock));
    /** The commands in flight, the oldest first. */
    readonly inFlight: { name: string; priority: Priority; sentAt: number }[] = [];
    readonly sent: string[] = [];
    readonly failed: Record<string, string> = {};

    give(name: string, turn: Turn, sheddable = turn.priority !== 'high'): void {
      const send = () => {
        this.sent.push(name);
        this.inFlight.push({ name, priority: turn.priority, sentAt: this.clock.now() });
      };
      if (this.window.tryEnter(turn.priority)) return send();
      const fail = (kind: string) => void (this.failed[name] = kind);
      const now = this.clock.now();
      const { patientUntil = 0 } = turn;
      this.window.wait({ turn, sheddable, deadline: now + 2000, patientUntil, send, fail });
    }

    giveMany(count: number, name: string, turn: Turn): void {
      for (let at = 0; at < count; at += 1) this.give(`${name} ${at}`, turn);
    }

    /** Answers the oldest command. */
    answer(): void {
      const command = this.inFlight.shift();
      if (!command) return;
      const { priority, sentAt } = command;
      this.window.leave(priority, { leftAt: sentAt, ranAt: this.clock.now() });
    }

    /** Lets time pass, and lets all commands fail that are past their deadlines: few in each turn of the event loop. */
    async pass(ms: number): Promise<void> {
      await this.clock.advance(ms);
      for (let turn = 0; turn < 50; turn += 1) await settled();
    }

    async answerEach(ms: number, count: number): Promise<void> {
      for (let at = 0; at < count; at += 1) {
        await this.clock.advance(ms);
        this.answer();
      }
    }
  }

  const by = (caller: object): Turn => ({ priority: 'normal', caller });
  const HIGH: Turn = { priority: 'high' };
  const NORMAL: Turn = { priority: 'normal' };
  const LOW: Turn = { priority: 'low' };
  const ALICE = { name: 'alice' };
  const BOB = { name: 'bob' };

  let store: SlowStore;
  beforeEach(() => (store = new SlowStore()));

  it('sends a renewal immediately while a thousand acquires wait', () => {
    store.giveMany(1000, 'acquire', NORMAL);
    expect(store.sent.length).toBeLessThan(100);
    store.give('renewal', HIGH);
    expect(store.sent.at(-1)).toBe('renewal');
  });

  it('sends the one acquire of a caller before the thousand acquires that another caller gave earlier', () => {
    store.giveMany(1000, 'alice', by(ALICE));
    store.give('bob', by(BOB));
    for (let answers = 0; answers < 3; answers += 1) store.answer();
    expect(store.sent.slice(-3)).toContain('bob');
  });

  it('fails an acquire immediately as overloaded if it would wait longer than half a second', async () => {
    store.giveMany(200, 'first', NORMAL);
    await store.answerEach(4, 100);
    // One answer takes 4 ms, so the 500th command would wait for two seconds.
    store.giveMany(500, 'later', NORMAL);
    const failedNames = Object.keys(store.failed);
    expect(failedNames.length).toBeGreaterThan(200);
    expect(failedNames).not.toContain('later 0');
    expect(new Set(Object.values(store.failed))).toEqual(new Set(['overloaded']));
    // The acquire of another caller waits for few commands, and is accepted.
    store.give('bob', by(BOB));
    expect(store.failed).not.toHaveProperty('bob');
  });

  it('fails an acquire that would be sent after the deadline of its call', async () => {
    store.giveMany(200, 'first', NORMAL);
    await store.answerEach(4, 50);
    store.give('hurried', { ...NORMAL, sendBefore: store.clock.now() + 50 });
    expect(store.failed).toHaveProperty('hurried', 'overloaded');
  });

  it('fails waiting acquires after half a second: as overloaded if the store answers, otherwise as unavailable', async () => {
    store.giveMany(100, 'acquire', NORMAL);
    await store.answerEach(300, 1);
    await store.pass(250);
    expect(store.failed).toHaveProperty('acquire 99', 'overloaded');
    store.giveMany(1, 'another', NORMAL);
    await store.pass(600);
    expect(store.failed).toHaveProperty('another 0', 'unavailable');
  });

  it('fails a renewal only at its own deadline', async () => {
    store.giveMany(100, 'renewal', HIGH);
    await store.pass(1900);
    expect(store.failed).toEqual({});
    await store.pass(200);
    expect(store.failed).toHaveProperty('renewal 99', 'unavailable');
  });

  describe('a patient command', () => {
    const PATIENT: Turn = { priority: 'high', caller: ALICE, patientUntil: 10_000 };

    it('waits past its deadline while the store answers, and fails at the end of its patience', async () => {
      store.giveMany(1000, 'withdrawal', PATIENT);
      await store.answerEach(100, 90);
      expect([store.sent.length, store.failed]).toEqual([64 + 90, {}]);
      await store.answerEach(100, 9);
      await store.pass(200);
      expect(Object.keys(store.failed)).toHaveLength(1000 - 64 - 99);
    });

    it('fails half a second after the last answer of the store, but not before its deadline', async () => {
      store.giveMany(100, 'withdrawal', PATIENT);
      await store.answerEach(100, 1);
      await store.pass(1800);
      expect(store.failed).toEqual({});
      await store.pass(200);
      expect(store.failed).toHaveProperty('withdrawal 99', 'unavailable');
    });

    it('delays no renewal of the server', () => {
      store.giveMany(5000, 'withdrawal', PATIENT);
      store.give('renewal', HIGH);
      for (let answers = 0; answers < 3; answers += 1) store.answer();
      expect(store.sent.slice(-3)).toContain('renewal');
    });
  });

  it('waits with a command that may have run until its deadline, also if the command is an acquire', async () => {
    store.giveMany(64, 'acquire', NORMAL);
    store.give('second try', NORMAL, false);
    await store.pass(1900);
    expect(store.failed).toEqual({});
  });

  it('sends new commands after hundreds of waiting commands have failed', async () => {
    store.giveMany(400, 'acquire', NORMAL);
    await store.answerEach(4, 40);
    await store.pass(3000);
    while (store.inFlight.length > 0) store.answer();
    store.give('new', NORMAL);
    expect(store.sent.at(-1)).toBe('new');
  });

  it('keeps eight acquires and two reads in flight while renewals wait', async () => {
    store.giveMany(200, 'acquire', NORMAL);
    store.giveMany(50, 'read', LOW);
    store.giveMany(2000, 'renewal', HIGH);
    const countOf = (priority: Priority) => store.inFlight.filter((one) => one.priority === priority).length;
    await store.answerEach(0.01, 400);
    expect([countOf('normal'), countOf('low')]).toEqual([8, 2]);
    expect(countOf('high')).toBeGreaterThanOrEqual(64);
  });

  it('does not stop reads and acquires while renewals always wait', async () => {
    store.giveMany(20, 'read', LOW);
    store.giveMany(70, 'acquire', NORMAL);
    for (let round = 0; round < 400; round += 1) {
      store.giveMany(2, `renewal ${round}`, HIGH);
      await store.answerEach(0.01, 1);
    }
    expect(store.sent).toEqual(expect.arrayContaining(['read 19', 'acquire 69']));
  });

  it('sends or fails each command exactly once, and keeps the number of commands in flight bounded', async () => {
    const turns = [HIGH, NORMAL, LOW, by(ALICE), by(BOB)];
    const step = fc.oneof(
      fc.record({ kind: fc.constant('give' as const), turn: fc.constantFrom(...turns), count: fc.nat(80) }),
      fc.record({ kind: fc.constant('answer' as const), count: fc.nat(100) }),
      fc.record({ kind: fc.constant('pause' as const), ms: fc.nat(700) }),
    );
    await assertWithinTime(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const each = new SlowStore();
        let given = 0;
        for (const [at, taken] of steps.entries()) {
          if (taken.kind === 'pause') await each.pass(taken.ms);
          else if (taken.kind === 'answer') await each.answerEach(0.1, taken.count);
          else {
            each.giveMany(taken.count, String(at), taken.turn);
            given += taken.count;
          }
          expect(each.inFlight.length).toBeLessThan(2000);
        }
        await each.pass(3000);
        while (each.inFlight.length > 0) each.answer();
        const names = [...each.sent, ...Object.keys(each.failed)];
        expect(names).toHaveLength(given);
        expect(new Set(names).size).toBe(given);
        expect(each.clock.timerCount).toBe(0);
      }),
    );
  });
});

describe('the latency limit', () => {
  /** The clock of Redis differs from the clock of this process. */
  const CLOCK_DIFFERENCE_MS = 1.7e12;

  interface Conditions {
    /** The time of the way to Redis and back. */
    readonly wayMs: number;
    readonly serviceMs: number;
    /** The time for which this process leaves each reply unread. */
    readonly unreadMs?: number;
  }

  /** A sender that always has more commands than the limit allows. Returns the time at the end. */
  function saturate(limit: LatencyLimit, conditions: Conditions, startAt: number, forMs: number): number {
    const { wayMs, serviceMs, unreadMs = 0 } = conditions;
    let now = startAt;
    let freeAt = startAt;
    const inFlight: { leftAt: number; ranAt: number; readAt: number }[] = [];
    while (now < startAt + forMs) {
      limit.full();
      while (inFlight.length < limit.current) {
        const ranAt = Math.max(freeAt, now + wayMs / 2);
        freeAt = ranAt + serviceMs;
        inFlight.push({ leftAt: now, ranAt, readAt: freeAt + wayMs / 2 + unreadMs });
      }
      const { leftAt, ranAt, readAt } = inFlight.shift()!;
      now = Math.max(now, readAt);
      limit.answered(leftAt, ranAt + CLOCK_DIFFERENCE_MS, now);
    }
    return now;
  }

  const newLimit = () => new LatencyLimit({ least: 8, initial: 64 });

  it('allows the number of commands in flight that a fast Redis carries out in some milliseconds', () => {
    const limit = newLimit();
    saturate(limit, { wayMs: 0.2, serviceMs: 0.05 }, 0, 5000);
    // At 0.05 ms a command, 60 commands before each command take 3 ms.
    expect(limit.current).toBeGreaterThan(40);
    expect(limit.current).toBeLessThan(150);
  });

  it('shrinks for a slow Redis, but not below its least value', () => {
    const limit = newLimit();
    saturate(limit, { wayMs: 0.2, serviceMs: 10 }, 0, 60_000);
    expect(limit.current).toBeGreaterThanOrEqual(8);
    expect(limit.current).toBeLessThan(12);
  });

  it('grows for a distant Redis, but not beyond the commands that are on the way', () => {
    const limit = newLimit();
    saturate(limit, { wayMs: 50, serviceMs: 0.1 }, 0, 20_000);
    // 50 ms of way take 500 commands of 0.1 ms, if the commands leave one by one. Here they leave in bursts.
    expect(limit.current).toBeGreaterThan(150);
    expect(limit.current).toBeLessThan(700);
  });

  it('does not shrink because this process reads the replies late', () => {
    const limit = newLimit();
    saturate(limit, { wayMs: 0.2, serviceMs: 0.05, unreadMs: 30 }, 0, 20_000);
    expect(limit.current).toBeGreaterThan(64);
  });

  it('adapts to a Redis that stays distant, because the shortest delay is measured again', () => {
    const limit = newLimit();
    const now = saturate(limit, { wayMs: 0.2, serviceMs: 0.05 }, 0, 5000);
    saturate(limit, { wayMs: 40, serviceMs: 0.1 }, now, 60_000);
    expect(limit.current).toBeGreaterThan(300);
  });

  it('stays as it is while the limit is not reached', () => {
    const limit = newLimit();
    for (let now = 0; now < 10_000; now += 1) limit.answered(now, now + (now % 200), now);
    expect(limit.current).toBe(64);
  });
});
