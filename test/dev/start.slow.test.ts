import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Authority } from '../support/certificates';
import { eventually } from '../support/eventually';
import { isAlive, untilGone } from '../support/processes/child-program';
import { RedisProcess } from '../support/processes/redis-process';
import { scratchFolder } from '../support/scratch-folder';
import { LONG_WAIT, onRedis, PROGRAM, redisPid, Started } from './started';

/** The process of npm, which runs the program as its child. */
const NPM = `
  const { spawn } = require('node:child_process');
  const env = { ...process.env, npm_lifecycle_event: 'start' };
  spawn(process.execPath, [${JSON.stringify(PROGRAM)}, 'dev'], { env, stdio: 'inherit' });
`;

describe('npm start', () => {
  const all: Started[] = [];
  /** The folder of most tests. They start one process after another in it, and Redis keeps its data. */
  let folder: string;
  let first: Started;

  beforeAll(async () => {
    folder = scratchFolder();
    first = await start(folder).ready();
  });
  afterAll(async () => {
    for (const started of all) await started.supervisor.end();
  });

  function start(where: string, options: ConstructorParameters<typeof Started>[1] = {}): Started {
    const started = new Started(where, options);
    all.push(started);
    return started;
  }

  it('prints its address, its data folder and a first call', () => {
    const { text } = first;
    const listen = /"listen":"(127\.0\.0\.1:\d+)"/.exec(text)?.[1];
    expect(text).toContain('DEVELOPMENT');
    expect(text).toContain(join(folder, '.holdfast', 'redis'));
    // Without npm, `holdfast` is on the PATH.
    expect(text).toContain(`    holdfast lock run hello --address ${listen} -- sleep 5`);
  });

  /**
   * Runs the first two commands of the text as a shell does, with `holdfast` on the PATH. The `sleep` on the PATH ends when
   * the other command has shown the holder.
   */
  async function expectToWork(text: string, env: NodeJS.ProcessEnv = {}): Promise<void> {
    const bin = scratchFolder();
    const program = (name: string, script: string): void =>
      writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    program('holdfast', `exec '${process.execPath}' '${PROGRAM}' "$@"`);
    program('sleep', `touch '${bin}/begun'; until [ -e '${bin}/seen' ]; do /bin/sleep 0.05; done`);
    const [run = '', get = ''] = [...text.matchAll(/^ +(holdfast .+)/gm)].map(([, command]) => command);
    const options = {
      cwd: bin,
      env: { ...process.env, ...env, PATH: `${bin}:${process.env['PATH']}` },
    };
    const shell = (command: string) => promisify(execFile)('sh', ['-c', `exec ${command}`], options);
    const running = shell(run);
    // An early end is a failure of this test, and is read below.
    running.catch(() => undefined);
    await eventually('the command under the lock', () => existsSync(join(bin, 'begun')), LONG_WAIT);
    expect((await shell(get)).stdout).toContain(`:${running.child.pid}`);
    writeFileSync(join(bin, 'seen'), '');
    expect((await running).stderr).not.toContain('lost');
  }

  it('prints commands that work: one runs under a lock, and the other shows its holder', () =>
    expectToWork(first.text));

  it('prints commands that work with TLS and a token', async () => {
    const other = scratchFolder();
    const authority = new Authority(other);
    const { cert, key } = authority.issue({ names: 'DNS:holdfast.internal' });
    appendFileSync(cert, readFileSync(authority.cert));
    const token = join(other, 'token');
    const tokens = join(other, 'tokens');
    writeFileSync(token, 'secret');
    writeFileSync(tokens, `somebody sha256:${createHash('sha256').update('secret').digest('hex')}\n`);
    const env = { HOLDFAST_TLS_CERT: cert, HOLDFAST_TLS_KEY: key, HOLDFAST_AUTH_TOKENS: tokens };
    const { text, supervisor } = await start(other, { env }).ready();
    expect(text).toContain('    export HOLDFAST_TOKEN_FILE=FILE');
    await expectToWork(text, { HOLDFAST_TOKEN_FILE: token });
    await supervisor.end();
  });

  it('refuses a second start in the same folder, and the first process keeps running', async () => {
    const second = start(folder);
    await second.supervisor.start();
    expect(await second.ended()).toEqual({ code: 1, signal: null });
    expect(second.text).toContain(`is already running in this folder (pid ${first.serverPid}`);
    expect(await onRedis(folder, (client) => client.ping())).toBe('PONG');
  });

  it('drains on SIGTERM, stops its Redis, and has the same data after the next start', async () => {
    const pid = await redisPid(folder);
    await onRedis(folder, (client) => client.set('kept', 'yes'));
    first.supervisor.signal('SIGTERM');
    expect(await first.ended()).toEqual({ code: 0, signal: null });
    expect(isAlive(pid)).toBe(false);
    first = await start(folder).ready();
    expect(await onRedis(folder, (client) => client.get('kept'))).toBe('yes');
  });

  it('ends its Redis when npm start is killed, and can be started again immediately', async () => {
    const pid = await redisPid(folder);
    await onRedis(folder, (client) => client.set('kept', 'after the kill'));
    first.supervisor.signal('SIGKILL');
    first = await start(folder, { args: ['-e', NPM] }).ready();
    await untilGone(pid);
    expect(await onRedis(folder, (client) => client.get('kept'))).toBe('after the kill');
  });

  it('ends its server and its Redis when the npm process is killed', async () => {
    const pid = await redisPid(folder);
    const { serverPid } = first;
    expect(serverPid).not.toBe(first.supervisor.pid);
    expect(isAlive(serverPid)).toBe(true);
    first.supervisor.signal('SIGKILL');
    await untilGone(serverPid);
    await untilGone(pid);
  });

  it('names a wrong setting without a stack trace, and leaves no Redis running', async () => {
    const other = scratchFolder();
    const started = start(other, { env: { HOLDFAST_LISTEN: 'nowhere' } });
    await started.supervisor.start();
    expect((await started.ended()).code).toBe(64);
    expect(started.text).toMatch(/HOLDFAST_LISTEN/);
    expect(started.text).not.toMatch(/ at .*\.js:\d+/);
    await expect(onRedis(other, (client) => client.ping())).rejects.toThrow();
  });

  it('uses the Redis of HOLDFAST_REDIS_URL and starts no Redis', async () => {
    const other = scratchFolder();
    const redis = await RedisProcess.start({ appendfsync: 'no' });
    try {
      const { text, supervisor } = await start(other, { env: { HOLDFAST_REDIS_URL: redis.url } }).ready();
      expect(text).toContain(`127.0.0.1:${redis.port}`);
      expect(text).toContain('DEVELOPMENT');
      await expect(onRedis(other, (client) => client.ping())).rejects.toThrow();
      await supervisor.end();
    } finally {
      await redis.close();
    }
  });
});
