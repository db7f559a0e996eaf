import type { Logger } from '../../../clients/typescript';
import { newsLog, type SessionNews } from '../../../clients/typescript/sessions/session-news';
import { inSpan } from '../../../clients/typescript/telemetry';
import { Holder } from '../../../generated/typescript/holdfast/v1/lease';
import { lock, opened, pass } from '../../support/clients/sdk-session';

// Without the uptime of the machine, which fake timers do not replace.
jest.mock('../../../clients/typescript/clock', () => {
  const now = () => performance.now();
  return { now, exactNow: now };
});

let warnings: string[];

beforeEach(() => {
  jest.useFakeTimers();
  warnings = [];
  jest.spyOn(process, 'emitWarning').mockImplementation((text) => void warnings.push(String(text)));
});
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

const queued = {
  $case: 'queued',
  value: { position: 1, waiterCount: 1, holder: Holder.create({}) },
} as const;
const started: SessionNews = { kind: 'started', address: 'a' };

const fails = (): void => {
  throw new Error('broken');
};
const failsUnreadably = (): void => {
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- a caller may throw anything
  throw new Proxy({}, { get: fails });
};
// Functions of the caller may be async, although the types have no promise.
const rejects = (() => Promise.reject(new Error('broken'))) as () => void;

describe('a function of the caller that fails', () => {
  test('is a warning of the process at each call of a tracer that throws, and the work ends as without a tracer', async () => {
    const span = { setAttribute: fails, setStatus: fails, end: fails };
    expect(await inSpan({ startSpan: fails as never }, 'acquire', {}, () => Promise.resolve(7))).toBe(7);
    expect(await inSpan({ startSpan: () => span }, 'acquire', {}, () => Promise.resolve(8))).toBe(8);
    const failed = inSpan({ startSpan: () => span }, 'acquire', {}, () => Promise.reject(new Error('own')));
    await expect(failed).rejects.toThrow('own');
    expect(new Set(warnings)).toEqual(new Set(['the tracer of the Holdfast client fails: broken']));
  });

  test.each([
    ['throws', fails],
    ['rejects', rejects],
    ['throws an error that nobody can read', failsUnreadably],
  ])('is told once if onQueued %s, and the wait goes on', async (_title, onQueued) => {
    const news: SessionNews[] = [];
    const { client, wire } = await opened({ onNews: (one) => void news.push(one) });
    const acquiring = lock(client, 'x', { onQueued });
    await pass(0);
    wire.event(1, queued);
    wire.event(1, queued);
    await pass(0);
    const error = onQueued === failsUnreadably ? 'it threw object' : 'broken';
    expect(news.slice(1)).toEqual([{ kind: 'callbackFailed', name: 'x', error }]);
    wire.grant(1, 'lease');
    expect((await acquiring).isValid).toBe(true);
  });

  test('is an error of the logger, or a warning of the process without a logger', () => {
    const lines: string[] = [];
    const nothing = () => undefined;
    const logger: Logger = {
      debug: nothing,
      info: nothing,
      warn: nothing,
      error: (line) => lines.push(line),
    };
    const news: SessionNews = { kind: 'callbackFailed', name: 'x', error: 'broken' };
    newsLog(logger)(news);
    newsLog(undefined)(news);
    const text = 'holdfast: onQueued of "x" has failed: broken';
    expect([lines, warnings]).toEqual([[text], [text]]);
  });

  test.each([
    ['throws', fails],
    ['rejects', rejects],
  ])('is one warning of the process if the logger %s, and the session goes on', async (_title, info) => {
    const debug = () => undefined;
    const log = newsLog({ debug, info, warn: fails, error: fails });
    const { client, wire, wires } = await opened({ onNews: log });
    log(started);
    await pass(0);
    expect(warnings).toEqual(['the logger of the Holdfast client fails: broken']);
    wires.last.end();
    await pass(1000);
    wires.last.start();
    const acquiring = lock(client, 'x');
    await pass(0);
    wires.last.grant(wires.last.id('acquireLock'), 'lease');
    expect((await acquiring).isValid).toBe(true);
    expect([wire.isDestroyed, warnings.length]).toEqual([true, 1]);
  });
});
