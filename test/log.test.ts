import { createLog } from '../src/log';

/** What one call of a logger writes. */
function written(
  write: (log: ReturnType<typeof createLog>) => void,
  level: 'info' | 'warn' = 'info',
): string[] {
  const lines: string[] = [];
  write(createLog(level, { write: (line: string) => void lines.push(line) }));
  return lines;
}

test('is one JSON object a line, with a level in words and the time in UTC', () => {
  const [line] = written((log) => log.info({ listen: '127.0.0.1:1' }, 'listening'));
  expect(line).toMatch(/^\{.*\}\n$/);
  expect(JSON.parse(line!)).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
    pid: process.pid,
    listen: '127.0.0.1:1',
    msg: 'listening',
  });
});

test('leaves out what is below its level', () => {
  expect(written((log) => log.info({}, 'unheard'), 'warn')).toEqual([]);
});

test('hides what gives power over a lease or the store, in errors of libraries too', () => {
  const secret = 's3cret';
  const err = Object.assign(new Error('failed'), {
    command: { name: 'evalsha', args: [secret] },
    password: secret,
  });
  const [line] = written((log) => log.error({ err, leaseId: secret, request: { requestId: secret } }, 'x'));
  expect(line).not.toContain(secret);
  expect(line).toContain('failed');
});
