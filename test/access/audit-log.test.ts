import { AuditLog } from '../../src/access/audit';
import type { Log } from '../../src/base/log';
import { addressOf, SampledLines } from '../../src/base/log';
import { ManualClock } from '../support/manual-clock';

describe('audit log', () => {
  interface Line {
    readonly level: string;
    readonly fields: Record<string, unknown>;
  }

  function started() {
    const lines: Line[] = [];
    const write = (level: string) => (fields: object) => void lines.push({ level, fields: { ...fields } });
    const log: Log = {
      debug: write('debug'),
      info: write('info'),
      warn: write('warn'),
      error: write('error'),
    };
    const clock = new ManualClock();
    return { lines, clock, audit: new AuditLog(log, clock) };
  }

  const caller = (identity: string) => ({
    identity,
    peer: '10.0.0.7:50000',
    method: '/holdfast.v1.LockService/GetLock',
  });
  const refusal = { service: 'LockService', verb: 'read', name: 'team-b/x', outcome: 'NOT_ALLOWED' } as const;

  test('a refusal has one line with the caller, its address, the call, the verb and the name', () => {
    const { lines, audit } = started();
    audit.refused(caller('token:a'), refusal);
    expect(lines).toEqual([
      {
        level: 'warn',
        fields: {
          identity: 'token:a',
          peer: '10.0.0.7:50000',
          method: '/holdfast.v1.LockService/GetLock',
          action: 'refused',
          service: 'LockService',
          verb: 'read',
          name: 'team-b/x',
          outcome: 'NOT_ALLOWED',
        },
      },
    ]);
  });

  test('a flood of refusals costs one line per identity and second, with the number of the others', async () => {
    const { lines, clock, audit } = started();
    for (let count = 0; count < 1000; count++) audit.refused(caller('token:a'), refusal);
    audit.refused(caller('token:b'), refusal);
    expect(lines.map(({ fields }) => fields['identity'])).toEqual(['token:a', 'token:b']);
    await clock.advance(1000);
    expect(lines.slice(2).map(({ fields }) => fields)).toEqual([
      { identity: 'token:a', action: 'refused', outcome: 'NOT_ALLOWED', suppressed: 999 },
    ]);
    audit.refused(caller('token:b'), refusal);
    expect(lines).toHaveLength(4);
    await clock.advance(3000);
    expect(lines).toHaveLength(4);
    audit.close();
  });

  test('many identities share one line', async () => {
    const { lines, clock, audit } = started();
    for (let count = 0; count < 500; count++) audit.refused(caller(`token:${count}`), refusal);
    expect(lines).toHaveLength(101);
    await clock.advance(1000);
    expect(lines.slice(101).map(({ fields }) => fields)).toEqual([
      { identity: 'several identities', action: 'refused', outcome: 'NOT_ALLOWED', suppressed: 399 },
    ]);
    audit.close();
  });

  test('a busy server writes one line per caller and ten seconds, and the number of its other refusals', async () => {
    const { lines, clock, audit } = started();
    const overloaded = { outcome: 'OVERLOADED' } as const;
    const from = (address: string, identity = '') => ({ ...caller(identity), peer: `${address}:50000` });
    for (let count = 0; count < 1000; count++) audit.refused(from('10.0.0.7', 'token:a'), overloaded);
    for (let count = 0; count < 10; count++) audit.refused(from('10.0.0.8', 'token:a'), overloaded);
    audit.refused(from('2001:db8::1'), overloaded);
    const fields = () => lines.splice(0).map((line) => line.fields);
    const first = { action: 'refused', outcome: 'OVERLOADED', method: '/holdfast.v1.LockService/GetLock' };
    expect(fields()).toEqual([
      { ...first, identity: 'token:a', peer: '10.0.0.7:50000' },
      { ...first, identity: 'token:a', peer: '10.0.0.8:50000' },
      { ...first, identity: '', peer: '2001:db8::1:50000' },
    ]);
    await clock.advance(9999);
    expect(lines).toEqual([]);
    await clock.advance(1);
    const more = { identity: 'token:a', action: 'refused', outcome: 'OVERLOADED' };
    expect(fields()).toEqual([
      { ...more, peer: '10.0.0.7', suppressed: 999 },
      { ...more, peer: '10.0.0.8', suppressed: 9 },
    ]);
    audit.close();
  });

  test('a hundred thousand overloaded addresses cost a hundred lines, and one for all others', async () => {
    const { lines, clock, audit } = started();
    for (let count = 0; count < 100_000; count++) {
      audit.refused(
        { ...caller(''), peer: `10.${count >> 16}.${(count >> 8) & 255}.${count & 255}:1` },
        { outcome: 'OVERLOADED' },
      );
    }
    expect(lines).toHaveLength(101);
    await clock.advance(10_000);
    expect(lines.slice(101).map(({ fields }) => fields)).toEqual([
      { identity: 'several identities', action: 'refused', outcome: 'OVERLOADED', suppressed: 99_899 },
    ]);
    audit.close();
  });

  test('close writes the numbers that are left', () => {
    const { lines, audit } = started();
    audit.refused(caller('token:a'), refusal);
    audit.refused(caller('token:a'), refusal);
    audit.close();
    expect(lines[1]?.fields['suppressed']).toBe(1);
  });

  test('texts of clients are escaped and cut', () => {
    const { lines, audit } = started();
    const act = {
      action: 'revoke',
      name: '\u001b[2Jx\u202e',
      requestReason: `a\nb${'x'.repeat(1000)}`,
    } as const;
    audit.act(caller('token:a'), act, 'OK');
    expect(lines[0]?.fields).toMatchObject({
      name: '\\u{1b}[2Jx\\u{202e}',
      requestReason: expect.stringMatching(/^a\\u\{a\}bx{509}…$/) as string,
    });
  });
});

describe('sampled lines', () => {
  interface Line {
    readonly fields: object;
    readonly message: string;
  }

  function started() {
    const clock = new ManualClock(1000);
    const lines: Line[] = [];
    const ignore = (): void => undefined;
    const warn = (fields: object, message: string): void => void lines.push({ fields, message });
    const log = { debug: ignore, info: ignore, error: ignore, warn };
    const bounds = { intervalMs: 1000, linesOfKey: 5, keys: 20 };
    const samples = new SampledLines(log, clock, bounds, 'refused more credentials');
    const write = (peer: string, fields: () => object): void => {
      const address = addressOf(peer);
      const counted = (isSeveral: boolean) => ({ peer: isSeveral ? 'several addresses' : address });
      samples.add(address, counted, () => warn({ ...fields(), peer }, 'refused a credential'));
    };
    return { clock, lines, log: { write, close: () => samples.close() } };
  }

  test('a flood of refusals costs 5 lines a second, and a line with the number of the others without further calls', async () => {
    const { clock, lines, log } = started();
    const made = jest.fn(() => ({ reason: 'BAD_CREDENTIAL' }));
    for (let count = 0; count < 1000; count += 1) log.write(`10.0.0.7:${count}`, made);
    expect(lines).toHaveLength(5);
    expect(lines[4]).toEqual({
      fields: { reason: 'BAD_CREDENTIAL', peer: '10.0.0.7:4' },
      message: 'refused a credential',
    });
    // The fields of a suppressed line are not made.
    expect(made).toHaveBeenCalledTimes(5);
    await clock.advance(1000);
    expect(lines.slice(5)).toEqual([
      { fields: { peer: '10.0.0.7', suppressed: 995 }, message: 'refused more credentials' },
    ]);
    log.write('10.0.0.7:1', made);
    await clock.advance(5000);
    expect(lines).toHaveLength(7);
  });

  test('a flood from one address does not hide the refusals of another address', () => {
    const { lines, log } = started();
    for (let count = 0; count < 1000; count += 1) log.write('10.0.0.7:1', () => ({}));
    log.write('[2001:db8::1]:2', () => ({}));
    expect(lines.at(-1)?.fields).toEqual({ peer: '[2001:db8::1]:2' });
    log.close();
  });

  test('many addresses share their lines', async () => {
    const { clock, lines, log } = started();
    for (let count = 0; count < 500; count += 1) log.write(`10.0.${count >> 8}.${count & 255}:1`, () => ({}));
    expect(lines).toHaveLength(25);
    await clock.advance(1000);
    expect(lines.slice(25).map(({ fields }) => fields)).toEqual([
      { peer: 'several addresses', suppressed: 475 },
    ]);
  });

  test('close writes the numbers that are left', () => {
    const { lines, log } = started();
    for (let count = 0; count < 7; count += 1) log.write('unix:/run/holdfast', () => ({}));
    log.close();
    expect(lines.at(-1)?.fields).toEqual({ peer: 'unix:/run/holdfast', suppressed: 2 });
  });
});
