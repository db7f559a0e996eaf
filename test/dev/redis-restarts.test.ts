import { RedisRestarts, type RedisRestartsOptions, RestartBackoff } from '../../src/dev/restarts';

const EXIT = { code: 1, signal: null } as const;
const DISK_FULL = { ...EXIT, lastOutput: 'No space left on device\n' };

describe('RestartBackoff', () => {
  it('restarts at once, then after 250 ms, and then after twice the last delay, up to 30 s', () => {
    const backoff = new RestartBackoff();
    const delays = Array.from({ length: 12 }, (_, n) => {
      backoff.started(n);
      return backoff.ended(n);
    });
    expect(delays).toEqual([0, 250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000]);
    for (let n = 0; n < 5000; n += 1) expect(backoff.ended(100)).toBe(30_000);
  });

  it('restarts at once again if the program has run for a minute', () => {
    const backoff = new RestartBackoff();
    expect([backoff.ended(0), backoff.ended(0), backoff.ended(0)]).toEqual([0, 250, 500]);
    backoff.started(1000);
    expect(backoff.ended(60_999)).toBe(1000);
    backoff.started(61_000);
    expect(backoff.ended(121_000)).toBe(0);
  });
});

describe('RedisRestarts', () => {
  let notes: string[];
  let starts: number;
  let hasSpace: boolean;
  let restarts: RedisRestarts;

  beforeEach(() => {
    jest.useFakeTimers();
    [notes, starts, hasSpace] = [[], 0, true];
  });
  afterEach(() => {
    restarts.stop();
    jest.useRealTimers();
  });

  function make(more: Partial<RedisRestartsOptions> = {}): RedisRestarts {
    restarts = new RedisRestarts({
      start: () => Promise.resolve((starts += 1)),
      dataFolder: '/data',
      logFile: '/redis.log',
      note: (text) => notes.push(text),
      isFull: () => Promise.resolve(!hasSpace),
      ...more,
    });
    return restarts;
  }

  it('does not start Redis on a full disk, and starts it within a second when there is space', async () => {
    hasSpace = false;
    await make().onExit(EXIT);
    await jest.advanceTimersByTimeAsync(20_000);
    expect(starts).toBe(0);
    expect(notes).toEqual([
      expect.stringMatching(/exit code 1.*The disk of \/data is full: free some space/),
    ]);
    hasSpace = true;
    await jest.advanceTimersByTimeAsync(1_000);
    expect(starts).toBe(1);
  });

  it('starts Redis every 30 s even if the disk seems full, because not every measure is right', async () => {
    hasSpace = false;
    await make().onExit(EXIT);
    await jest.advanceTimersByTimeAsync(32_000);
    expect(starts).toBe(1);
  });

  it('starts Redis again when it could not be started', async () => {
    let failures = 3;
    const start = () => (failures-- > 0 ? Promise.reject(new Error('no such program')) : Promise.resolve());
    await make({ start }).onExit(EXIT);
    await jest.advanceTimersByTimeAsync(3_000);
    expect(failures).toBe(-1);
    expect(notes).toContainEqual(expect.stringMatching(/cannot be started: no such program/));
  });

  it('prints the same text at most once a minute, and says when Redis runs again', async () => {
    make();
    for (let n = 0; n < 4; n += 1) {
      await restarts.onExit(DISK_FULL);
      await jest.advanceTimersByTimeAsync(2_500);
    }
    expect(notes).toEqual([expect.stringContaining('No space left on device')]);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(notes.slice(1)).toEqual(['Redis runs again, with the same data']);
  });

  it('starts nothing after stop', async () => {
    const pending = make().onExit(EXIT);
    restarts.stop();
    await pending;
    await jest.advanceTimersByTimeAsync(60_000);
    expect([starts, notes]).toEqual([0, []]);
  });
});
