import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { HoldfastError } from '../../src/base/errors';
import { createLog, preload } from '../../src/server/startup';
import { ManualClock } from '../support/manual-clock';
import { ROOT } from '../support/root';

describe('log', () => {
  /** The lines that a logger writes during one call of `write`. */
  function linesOf(
    write: (log: ReturnType<typeof createLog>) => void,
    level: 'info' | 'warn' = 'info',
  ): string[] {
    const lines: string[] = [];
    write(createLog(level, { write: (line: string) => void lines.push(line) }));
    return lines;
  }

  test('the log writes one JSON object per line, with the level as a word and the time in UTC', () => {
    const [line] = linesOf((log) => log.info({ listen: '127.0.0.1:1' }, 'listening'));
    expect(line).toMatch(/^\{.*\}\n$/);
    expect(JSON.parse(line!)).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
      pid: process.pid,
      listen: '127.0.0.1:1',
      msg: 'listening',
    });
  });

  test('the log leaves out messages below its level', () => {
    expect(linesOf((log) => log.info({}, 'unheard'), 'warn')).toEqual([]);
  });

  test('the log replaces passwords, lease ids and commands, even inside the error of a library', () => {
    const secret = 's3cret';
    const err = Object.assign(new Error('failed'), {
      command: { name: 'evalsha', args: [secret] },
      password: secret,
    });
    const [line] = linesOf((log) => log.error({ err, leaseId: secret, request: { requestId: secret } }, 'x'));
    expect(line).not.toContain(secret);
    expect(line).toContain('failed');
  });

  test('a reader that stands still does not block the process, and the waiting lines have a bound', async () => {
    const program = `
    const log = require(${JSON.stringify(join(ROOT, 'dist/src/server/startup.js'))}).createLog('info');
    // 400 MiB in lines.
    for (let count = 0; count < 25_000; count += 1) log.info({ text: 'x'.repeat(2 ** 14) }, 'a line');
    process.stderr.write(String(process.memoryUsage().rss / 2 ** 20));
    setInterval(() => undefined, 1000);`;
    const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'pipe'] });
    try {
      // Nothing reads the standard output.
      const [rssMiB] = (await once(child.stderr, 'data')) as [Buffer];
      expect(Number(rssMiB)).toBeLessThan(250);
    } finally {
      child.kill('SIGKILL');
    }
  });
});

describe('preload', () => {
  /** The loads at the start of a server, with loads that tests answer. */

  let clock: ManualClock;
  let stopping: AbortController;
  let asked: string[];
  let progress: number[];
  let warned: unknown[];
  let answer: (dictionary: string) => Promise<void>;

  beforeEach(() => {
    clock = new ManualClock();
    stopping = new AbortController();
    [asked, progress, warned] = [[], [], []];
  });

  const unavailable = () => Promise.reject(new HoldfastError('STORE_UNAVAILABLE', 'no answer'));

  function run(...names: string[]): Promise<void> {
    return preload({
      names,
      indexes: {
        load: (dictionary) => {
          asked.push(dictionary);
          return answer(dictionary);
        },
      },
      clock,
      log: {
        info: () => undefined,
        warn: ({ dictionary }: { dictionary?: unknown }) => void warned.push(dictionary),
      } as never,
      onProgress: (leftCount) => progress.push(leftCount),
      stopped: stopping.signal,
    });
  }

  test('loads one dictionary after another, and tells how many are left', async () => {
    answer = () => Promise.resolve();
    await run('a', 'b');
    expect(asked).toEqual(['a', 'b']);
    expect(progress).toEqual([2, 1, 0]);
    expect(warned).toEqual([]);
  });

  test('leaves out a dictionary that cannot be loaded', async () => {
    answer = (dictionary) =>
      dictionary === 'a'
        ? Promise.reject(new HoldfastError('NO_SUCH_DICTIONARY', 'none'))
        : Promise.resolve();
    await run('a', 'b');
    expect([asked, progress, warned]).toEqual([['a', 'b'], [2, 1, 0], ['a']]);
  });

  test('tries again while the store does not answer', async () => {
    answer = unavailable;
    const done = run('a');
    await clock.advance(10_000);
    expect(asked.length).toBeGreaterThan(5);
    expect(progress).toEqual([1]);
    answer = () => Promise.resolve();
    await clock.advance(1000);
    await done;
    expect([progress, warned]).toEqual([[1, 0], []]);
  });

  test('waits 2 minutes for the store in all, and not for each dictionary', async () => {
    answer = unavailable;
    const done = run('a', 'b', 'c');
    for (let seconds = 0; seconds < 118; seconds += 1) await clock.advance(1000);
    expect(progress).toEqual([3]);
    for (let seconds = 0; seconds < 2; seconds += 1) await clock.advance(1000);
    await done;
    expect([progress, warned]).toEqual([
      [3, 2, 1, 0],
      ['a', 'b', 'c'],
    ]);
  });

  test('ends at once when the server stops, without a warning and without another load', async () => {
    answer = () => new Promise(() => undefined);
    const done = run('a', 'b');
    stopping.abort();
    await done;
    expect([asked, progress, warned]).toEqual([['a'], [2], []]);
  });
});
