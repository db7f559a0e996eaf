import { readFileSync } from 'node:fs';
import { CertificateEnds, ServerCertificates } from '../../src/access/server-certificates';
import { DAY_MS } from '../../src/access/time-of-day';
import { Authority } from '../support/certificates';
import { scratchFolder } from '../support/scratch-folder';

describe('certificate ends', () => {
  let ends: CertificateEnds;
  let logged: (readonly [message: string, setting: unknown])[];

  beforeEach(() => {
    jest.useFakeTimers({ now: Date.parse('2026-11-01T00:00:00Z') });
    logged = [];
    const write = (fields: object, message: string): void =>
      void logged.push([message, (fields as { setting?: unknown }).setting]);
    ends = new CertificateEnds({ debug: write, info: write, warn: write, error: write });
  });
  afterEach(() => {
    ends.close();
    jest.useRealTimers();
  });

  const inDays = (days: number): number => Date.now() + days * DAY_MS;
  const server = (days: number) => ({ use: 'server', setting: 'CERT', endsAtMs: inDays(days) }) as const;

  test('warns from 14 days before the end, once a day, and says when a certificate has ended', () => {
    ends.set(server(15.5));
    expect(logged).toEqual([]);
    jest.advanceTimersByTime(16 * DAY_MS);
    const days = logged.map(([message]) => /ends in (\d+) days?/.exec(message)?.[1]);
    expect(days.filter((day) => day !== undefined)).toEqual(
      Array.from({ length: 14 }, (_, i) => `${14 - i}`),
    );
    expect(logged.at(-1)).toEqual(['a certificate has ended', 'CERT']);
  });

  test('says that a certificate has ended at its end, also soon after the last warning', () => {
    ends.set(server(13 + 66 / 86_400));
    ends.set({ use: 'client-authority', setting: 'CA', endsAtMs: inDays(90) });
    jest.advanceTimersByTime(13 * DAY_MS);
    expect(logged.at(-1)).toEqual(['a certificate ends in 1 day', 'CERT']);
    jest.advanceTimersByTime(65_000);
    expect(logged.at(-1)).toEqual(['a certificate ends in 1 day', 'CERT']);
    jest.advanceTimersByTime(1001);
    expect(logged.at(-1)).toEqual(['a certificate has ended', 'CERT']);
    const count = logged.length;
    jest.advanceTimersByTime(DAY_MS - 2000);
    expect(logged).toHaveLength(count);
    jest.advanceTimersByTime(3_600_000);
    expect(logged.slice(count)).toEqual([['a certificate has ended', 'CERT']]);
  });

  test('warns of each certificate by itself, and again when a changed one ends soon too', () => {
    ends.set(server(3));
    ends.set({ use: 'redis-authority', setting: 'CA', endsAtMs: inDays(5) });
    ends.set(server(4));
    ends.set(server(90));
    jest.advanceTimersByTime(1.5 * DAY_MS);
    expect(logged).toEqual([
      ['a certificate ends in 3 days', 'CERT'],
      ['a certificate ends in 5 days', 'CA'],
      ['a certificate ends in 4 days', 'CERT'],
      ['a certificate ends in 4 days', 'CA'],
    ]);
  });

  test('tells the end of the latest certificate of each use', () => {
    ends.set(server(3));
    ends.set({ use: 'client-authority', setting: 'CA', endsAtMs: inDays(100) });
    ends.set(server(90));
    expect([...ends.all()].map(({ use, endsAtMs }) => [use, endsAtMs])).toEqual([
      ['server', inDays(90)],
      ['client-authority', inDays(100)],
    ]);
  });

  describe('a file', () => {
    const file = { use: 'redis-authority', setting: 'HOLDFAST_REDIS_TLS_CA' } as const;

    test('has the earliest end of its certificates', () => {
      jest.useRealTimers();
      const other = new Authority(scratchFolder());
      const short = readFileSync(other.issue({ days: 30 }).cert);
      ends.add({ ...file, pem: Buffer.concat([other.pem, short]) });
      const found = [...ends.all()].map(({ endsAtMs }) => Math.round((endsAtMs - Date.now()) / DAY_MS));
      expect(found).toEqual([30]);
    });

    test('without a certificate is refused with the name of its setting', () => {
      expect(() => ends.add({ ...file, pem: Buffer.from('nothing') })).toThrow(
        'HOLDFAST_REDIS_TLS_CA cannot be used: Error: the file has no certificate in PEM form',
      );
      expect([...ends.all()]).toEqual([]);
    });
  });
});

test.each<[string, number, string]>([
  ['warns 14 days before the certificate ends', 14, 'a certificate ends in 14 days'],
  ['reports a certificate that has ended', -1, 'a certificate has ended'],
  ['does not warn earlier', 15, ''],
])('the server %s', async (_title, days, message) => {
  const authority = new Authority(scratchFolder());
  const { cert, key } = authority.issueForServer({ days });
  const lines: unknown[] = [];
  const keep = (fields: object, text: string): void => void lines.push([text, fields]);
  const ignore = (): void => undefined;
  const log = { debug: ignore, info: ignore, warn: keep, error: keep };
  const ends = new CertificateEnds(log);
  const certificates = new ServerCertificates(
    {
      certificate: { setting: 'HOLDFAST_TLS_CERT', path: cert },
      key: { setting: 'HOLDFAST_TLS_KEY', path: key },
    },
    ends,
    log,
  );
  await certificates.start();
  certificates.close();
  ends.close();
  const end = expect.stringMatching(/^20\d\d-.*Z$/) as string;
  expect(lines).toEqual(message === '' ? [] : [[message, { setting: 'HOLDFAST_TLS_CERT', end }]]);
});
