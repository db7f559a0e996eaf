import { runInNewContext } from 'node:vm';
import {
  connect,
  type ConnectOptions,
  InvalidRequestError,
  type LockOptions,
  UnavailableError,
} from '../../../clients/typescript';
import { addressList } from '../../../clients/typescript/connection/addresses';
import { tokenSource } from '../../../clients/typescript/connection/token';
import { lockAcquire, permitsAcquire } from '../../../clients/typescript/leases/options';
import type { Lease } from '../../../clients/typescript/sessions/lease';
import { newsLog, type SessionNews } from '../../../clients/typescript/sessions/session-news';
import { toMs } from '../../../clients/typescript/time-span';

describe('options', () => {
  test.each([
    [250, 250],
    ['250ms', 250],
    ['30s', 30_000],
    ['1.5h', 5_400_000],
    ['2m', 120_000],
    ['0s', 0],
  ])('the time %j has %d ms', (span, ms) => {
    expect(toMs(span, 'ttl')).toBe(ms);
  });

  test.each(['', 's', '30', '-1s', '1d', '1 s', -1, NaN, Infinity, 1e300])(
    'the time %j is refused',
    (span) => {
      expect(() => toMs(span, 'ttl')).toThrow('ttl must be milliseconds or a text such as "30s"');
      expect(() => toMs(span, 'ttl')).toThrow(InvalidRequestError);
    },
  );

  test('an option that no message can carry is refused, and the error names the option', () => {
    for (const count of [1.5, -1, NaN, 2 ** 31]) {
      expect(() => permitsAcquire('gpu', { permits: count })).toThrow('permits must be a whole number');
      expect(() => permitsAcquire('gpu', { limit: count })).toThrow('limit must be a whole number below');
    }
    // A limit of 0 pauses the semaphore.
    expect(permitsAcquire('gpu', { limit: 0 }).initialLimit).toBe(0);
    expect(() => lockAcquire(undefined as unknown as string, {})).toThrow('name must be a text');
    const metadata = { zone: 7 as unknown as string };
    expect(() => lockAcquire('report', { metadata })).toThrow('metadata of "zone" must be a text');
    expect(() => lockAcquire('report', { ttl: 1e300 })).toThrow('ttl must be milliseconds');
  });

  test.each<[string, object | null | undefined | string]>([
    ['mode', { mode: 'read' }],
    ['mode', { mode: Object.create(null) as object }],
    ['metadata', { metadata: null }],
    ['metadata', { metadata: '' }],
    ['options', null],
    ['options', 'shared'],
    ['ttl', { ttl: 10n }],
    ['ttl', { ttl: Symbol('ttl') }],
    ['wait', { wait: null }],
    ['onQueued', { onQueued: 5 }],
    ['onQueued', { onQueued: null }],
    ['signal', { signal: null }],
    ['signal', { signal: new AbortController() }],
  ])('the option %s is refused before the client sends anything: %p', (option, given) => {
    const options = given as LockOptions;
    expect(() => lockAcquire('report', options)).toThrow(InvalidRequestError);
    expect(() => lockAcquire('report', options)).toThrow(`${option} must be `);
    if (option !== 'mode') expect(() => permitsAcquire('report', options)).toThrow(`${option} must be `);
  });

  test.each([
    ['is longer than a message', 'x'.repeat(2 ** 20)],
    ['has half of a surrogate pair', 'caf\ud83d'],
  ])('a text that %s is refused, because it would end each session', async (_, text) => {
    expect(() => lockAcquire(text, {})).toThrow(InvalidRequestError);
    expect(() => permitsAcquire(text, {})).toThrow(InvalidRequestError);
    expect(() => lockAcquire('report', { metadata: { zone: text } })).toThrow(InvalidRequestError);
    expect(() => lockAcquire('report', { metadata: { [text]: 'a' } })).toThrow(InvalidRequestError);
    await expect(connect('127.0.0.1:1', { holderId: text })).rejects.toThrow(InvalidRequestError);
    await expect(connect('127.0.0.1:1', { metadata: { zone: text } })).rejects.toThrow(InvalidRequestError);
  });

  test('connect refuses options that are no object, and a signal, logger or tracer that is none', async () => {
    for (const options of [
      null,
      'x',
      { signal: null },
      { signal: new AbortController() },
      { logger: 5 },
      { logger: null },
      { logger: { info: () => undefined } },
      { tracer: {} },
    ]) {
      await expect(connect('127.0.0.1:1', options as ConnectOptions)).rejects.toThrow(InvalidRequestError);
    }
  });

  test('names of all languages are allowed', () => {
    expect(lockAcquire('Zürich 東京 😀', {}).name).toBe('Zürich 東京 😀');
  });

  test('metadata are those of the moment of the call', () => {
    const metadata = new Map([['zone', 'a']]);
    const acquire = lockAcquire('report', { metadata });
    metadata.set('zone', 'x'.repeat(2 ** 22));
    expect(acquire.metadata).toEqual(new Map([['zone', 'a']]));
  });

  test('metadata may be a map of another realm', () => {
    const metadata = runInNewContext(`new Map([['zone', 'a']])`) as Map<string, string>;
    expect(lockAcquire('report', { metadata }).metadata).toEqual(new Map([['zone', 'a']]));
  });

  test('addresses come as a text with commas or as an array', () => {
    expect(addressList('a:1, b:2')).toEqual(['a:1', 'b:2']);
    expect(addressList(['[::1]:50051', 'c:1,d:65535'])).toEqual(['[::1]:50051', 'c:1', 'd:65535']);
  });

  test.each([
    ...[
      'http://a:50051',
      'dns:///a:1',
      'unix:/tmp/a:1',
      'a:0',
      'a:65536',
      'a',
      ':50051',
      'a b:1',
      '::1:5005',
      '',
    ],
    ...['a:1,', ['a:1', 'b'], [undefined], [], null, 5, {}],
  ])('%p is no address of a server, so `connect` does not try it', async (addresses) => {
    await expect(connect(addresses as string)).rejects.toThrow(InvalidRequestError);
  });

  test.each([
    ['tls', false],
    ['tls', null],
    ['tls', 'yes'],
    ['tls', { cert: 'client.pem' }],
    ['tls', { key: 'client.key' }],
    ['token', null],
    ['token', 5],
    ['token', {}],
    ['token', { file: 5 }],
    ['metadata', null],
    ['metadata', 'zone'],
    ['metadata', ['zone']],
    ['metadata', new Set(['zone'])],
  ])('`connect` refuses a wrong %s at once: %p', async (option, value) => {
    const connecting = connect('127.0.0.1:1', { [option]: value });
    await expect(connecting).rejects.toThrow(InvalidRequestError);
    await expect(connecting).rejects.toThrow(`${option} must be`);
  });

  test.each(['ca', 'cert', 'key', 'serverName'])(
    '`connect` refuses a wrong %s of tls at once',
    async (field) => {
      for (const value of [5, null, ['ca.pem']]) {
        const connecting = connect('127.0.0.1:1', { tls: { [field]: value } });
        await expect(connecting).rejects.toThrow(InvalidRequestError);
        await expect(connecting).rejects.toThrow(`${field} must be`);
      }
    },
  );

  test.each([[null], [undefined], [{}], [{ token: 5 }]])(
    'a token callback that gives %p gives no token',
    async (answer) => {
      const source = tokenSource(() => answer as string);
      await expect(source?.()).rejects.toThrow('neither a text nor { token }');
    },
  );

  test('a token file of more than 64 KiB, or without an end, is refused and not read into memory', async () => {
    await expect(tokenSource({ file: '/dev/zero' })?.()).rejects.toThrow(
      'the token file /dev/zero has more than 65536 bytes',
    );
  });

  test('a token comes from a text or a function, with or without its life', async () => {
    expect(await tokenSource('t')?.()).toEqual({ token: 't' });
    expect(await tokenSource(() => 't')?.()).toEqual({ token: 't' });
    expect(await tokenSource(() => ({ token: 't', expiresIn: '5s' }))?.()).toEqual({
      token: 't',
      expiresInMs: 5000,
    });
    expect(await tokenSource('t\n')?.()).toEqual({ token: 't' });
    expect(tokenSource(undefined)).toBeUndefined();
  });
});

describe('the news of a session', () => {
  const address = 'a:50051';
  const lease = { name: 'report', loss: { message: 'the lease is over' } } as Lease;
  const error = new UnavailableError('broken', { reason: '', code: 14 });

  /** The table of docs/clients/typescript.md. */
  const LEVELS: readonly { readonly level: string; readonly news: SessionNews; readonly text: RegExp }[] = [
    {
      level: 'debug',
      news: { kind: 'attached', address, lease },
      text: /a:50051 renews the lease of "report"/,
    },
    { level: 'info', news: { kind: 'started', address }, text: /a session with a:50051 has started/ },
    { level: 'info', news: { kind: 'leaving', address }, text: /a:50051 asks to leave/ },
    {
      level: 'warn',
      news: { kind: 'ended', address, error },
      text: /the session with a:50051 has ended: broken/,
    },
    {
      level: 'warn',
      news: { kind: 'ended', address: '', error },
      text: /the session with no server has ended: broken/,
    },
    {
      level: 'warn',
      news: { kind: 'renewalFailed', lease },
      text: /a renewal of the lease of "report" has failed/,
    },
    { level: 'warn', news: { kind: 'lost', lease }, text: /the lease is over/ },
    {
      level: 'error',
      news: { kind: 'callbackFailed', name: 'report', error: 'mine' },
      text: /onQueued of "report" has failed: mine/,
    },
  ];

  test.each(LEVELS)('writes $news.kind at the level $level', ({ level, news, text }) => {
    const lines: string[][] = [];
    const at = (name: string) => (line: string) => void lines.push([name, line]);
    newsLog({ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') })(news);
    expect(lines).toEqual([[level, expect.stringMatching(text) as string]]);
  });
});
