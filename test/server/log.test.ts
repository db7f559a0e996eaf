import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createLog } from '../../src/server/startup';
import { ROOT } from '../support/root';

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
    for (let count = 0; count < 1_200_000; count += 1) log.info({ text: 'x'.repeat(200) }, 'a line');
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
