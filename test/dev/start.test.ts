import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { banner, type ServerInfo } from '../../src/dev/banner';
import { type ChildExit, ChildSupervisor } from '../../src/dev/child-supervisor';
import { Authority } from '../support/certificates';
import { eventually } from '../support/eventually';
import { isAlive, untilGone } from '../support/processes/child-program';
import { lifeline } from '../support/processes/run-guard';
import { RedisProcess } from '../support/processes/redis-process';
import { scratchFolder } from '../support/scratch-folder';

const PROGRAM = resolve(__dirname, '../../dist/src/cli/main.js');
const LONG_WAIT = { timeoutMs: 20_000 };
/** The process of npm, which runs the program as its child. */
const NPM = `
  const { spawn } = require('node:child_process');
  const env = { ...process.env, npm_lifecycle_event: 'start' };
  spawn(process.execPath, [${JSON.stringify(PROGRAM)}, 'dev'], { env, stdio: 'inherit' });
`;

/** `holdfast dev`, the program behind `npm start`, run as a child process. */
class Started {
  readonly output: string[] = [];
  exit: ChildExit | undefined;
  readonly supervisor: ChildSupervisor;

  constructor(
    folder: string,
    { env = {}, args = [PROGRAM, 'dev'] }: { env?: NodeJS.ProcessEnv; args?: string[] } = {},
  ) {
    const { HOLDFAST_REDIS_URL: _configured, npm_lifecycle_event: _npm, ...inherited } = process.env;
    this.supervisor = new ChildSupervisor({
      command: process.execPath,
      args,
      cwd: folder,
      env: { ...inherited, HOLDFAST_LISTEN: '127.0.0.1:0', HOLDFAST_ADMIN_LISTEN: 'off', ...env },
      graceMs: 0,
      ...lifeline(),
      onExit: (exit) => (this.exit = exit),
      onOutput: (...pipes) => {
        for (const input of pipes) createInterface({ input }).on('line', (line) => this.output.push(line));
      },
    });
  }

  /** Waits for the end of the banner and for the log line "listening". The order of the two is not fixed. */
  async ready(): Promise<this> {
    await this.supervisor.start();
    const printed = (text: string): boolean => this.text.includes(text);
    const isUp = (): boolean =>
      this.exit !== undefined || (printed('Ctrl-C drains') && printed('"listening"'));
    await eventually('the banner', isUp, LONG_WAIT);
    if (this.exit) throw new Error(`npm start ended:\n${this.text}`);
    return this;
  }

  async ended(): Promise<ChildExit> {
    return eventually('the end', () => this.exit, LONG_WAIT);
  }

  get text(): string {
    return this.output.join('\n');
  }

  /** The process id of the server, read from its log. */
  get serverPid(): number {
    return Number(/"pid":(\d+)/.exec(this.text)?.[1]);
  }
}

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

  async function onRedis<T>(work: (client: Redis) => Promise<T>, where = folder): Promise<T> {
    const socket = join(where, '.holdfast', 'redis.sock');
    const client = new Redis(socket, { maxRetriesPerRequest: 0, disconnectTimeout: 50 });
    client.on('error', () => undefined);
    try {
      return await work(client);
    } finally {
      client.disconnect();
    }
  }

  async function redisPid(): Promise<number> {
    const info = await onRedis((client) => client.info('server'));
    return Number(/process_id:(\d+)/.exec(info)?.[1]);
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
    expect(await onRedis((client) => client.ping())).toBe('PONG');
  });

  it('drains on SIGTERM, stops its Redis, and has the same data after the next start', async () => {
    const pid = await redisPid();
    await onRedis((client) => client.set('kept', 'yes'));
    first.supervisor.signal('SIGTERM');
    expect(await first.ended()).toEqual({ code: 0, signal: null });
    expect(isAlive(pid)).toBe(false);
    first = await start(folder).ready();
    expect(await onRedis((client) => client.get('kept'))).toBe('yes');
  });

  it('ends its Redis when npm start is killed, and can be started again immediately', async () => {
    const pid = await redisPid();
    await onRedis((client) => client.set('kept', 'after the kill'));
    first.supervisor.signal('SIGKILL');
    first = await start(folder, { args: ['-e', NPM] }).ready();
    await untilGone(pid);
    expect(await onRedis((client) => client.get('kept'))).toBe('after the kill');
  });

  it('ends its server and its Redis when the npm process is killed', async () => {
    const pid = await redisPid();
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
    await expect(onRedis((client) => client.ping(), other)).rejects.toThrow();
  });

  it('uses the Redis of HOLDFAST_REDIS_URL and starts no Redis', async () => {
    const other = scratchFolder();
    const redis = await RedisProcess.start({ appendfsync: 'no' });
    try {
      const { text, supervisor } = await start(other, { env: { HOLDFAST_REDIS_URL: redis.url } }).ready();
      expect(text).toContain(`127.0.0.1:${redis.port}`);
      expect(text).toContain('DEVELOPMENT');
      await expect(onRedis((client) => client.ping(), other)).rejects.toThrow();
      await supervisor.end();
    } finally {
      await redis.close();
    }
  });
});

const STORE = { description: 'Redis 7.0.15, private', dataFolder: '/home/u/holdfast/.holdfast/redis' };

const OPEN: ServerInfo = {
  listen: '127.0.0.1:50051',
  redis: 'unused',
  version: '1.2.3',
  tlsCert: undefined,
  credentials: { token: false, certificate: false },
};

/** The lines of the banner that a user may copy. */
function commands(server: Partial<ServerInfo>, isUnderNpm = false): string[] {
  return banner({ ...OPEN, ...server }, STORE, isUnderNpm)
    .split('\n')
    .filter((line) => line.startsWith('    '))
    .map((line) => line.trim());
}

describe('the banner of npm start', () => {
  it('shows the address, the store, the data folder and the word DEVELOPMENT', () => {
    const text = banner(OPEN, STORE, true);
    expect(text).toContain('Holdfast 1.2.3');
    expect(text).toContain('DEVELOPMENT: one machine, no TLS, no credentials');
    expect(text).toContain('127.0.0.1:50051');
    expect(text).toContain(STORE.description);
    expect(text).toContain(STORE.dataFolder);
    expect(text).toContain('npm run leader -- demo --value alice');
  });

  it('without npm, shows only commands of an installed program', () => {
    expect(commands({ listen: '127.0.0.1:7' })).toEqual([
      'holdfast lock run hello --address 127.0.0.1:7 -- sleep 5',
      'holdfast lock get hello --address 127.0.0.1:7',
      "holdfast elect demo --address 127.0.0.1:7 --value alice -- sh -c 'echo alice leads; sleep 60'",
      "holdfast elect demo --address 127.0.0.1:7 --value bob -- sh -c 'echo bob leads; sleep 60'",
    ]);
  });

  it('shows commands of the program holdfast for the address of the server', () => {
    expect(commands({}, true).slice(0, 2)).toEqual([
      'npx holdfast lock run hello -- sleep 5',
      'npx holdfast lock get hello',
    ]);
    expect(commands({ listen: '0.0.0.0:50051' }, true)).toEqual(commands({}, true));
    expect(commands({ listen: '0.0.0.0:7' }, true).slice(0, 2)).toEqual([
      'npx holdfast lock run hello --address 127.0.0.1:7 -- sleep 5',
      'npx holdfast lock get hello --address 127.0.0.1:7',
    ]);
    // zsh reads brackets without quotes as a pattern for files.
    expect(commands({ listen: '[::]:7' })[1]).toBe("holdfast lock get hello --address '[::1]:7'");
  });

  it('shows the example programs only for a server that the example programs can call', () => {
    const elect = expect.stringMatching(/^npx holdfast elect /);
    const credentials = { token: true, certificate: false };
    for (const server of [{ listen: '127.0.0.1:7' }, { credentials }]) {
      expect(commands(server, true).slice(-2)).toEqual([elect, elect]);
    }
  });

  it.each([true, false])(
    'shows no command for a unix: address, which clients refuse (npm: %s)',
    (isUnderNpm) => {
      const text = banner({ ...OPEN, listen: 'unix:/run/h.sock' }, STORE, isUnderNpm);
      expect(text).toContain('unix:/run/h.sock');
      expect(text).toContain('set HOLDFAST_LISTEN to host:port');
      expect(text).not.toMatch(/lock run|lock get|elect|npm run/);
    },
  );
});

describe('the banner of a server with TLS', () => {
  const authority = new Authority(scratchFolder());

  it('says whether the server has TLS and requires credentials', () => {
    const credentials = { token: true, certificate: false };
    const text = banner({ ...OPEN, tlsCert: authority.issueForServer().cert, credentials }, STORE, true);
    expect(text).toContain('DEVELOPMENT: one machine, TLS, credentials required');
  });

  it('asks for the authority of the certificate, which the server does not know', () => {
    const { cert } = authority.issueForServer();
    expect(commands({ tlsCert: cert }).slice(0, 3)).toEqual([
      'export HOLDFAST_CA=FILE',
      'holdfast lock run hello --tls -- sleep 5',
      'holdfast lock get hello --tls',
    ]);
  });

  it('trusts the authority in the chain of the server', () => {
    const { cert } = authority.issueForServer();
    appendFileSync(cert, readFileSync(authority.cert));
    expect(commands({ tlsCert: cert })[1]).toBe(`holdfast lock get hello --ca ${cert}`);
  });

  it('names the server as the certificate does, and quotes a path with a space', () => {
    const spaced = new Authority(scratchFolder(), "a user's authority");
    const { cert } = spaced.issue({ names: 'DNS:holdfast.internal,DNS:localhost' });
    appendFileSync(cert, readFileSync(spaced.cert));
    expect(cert).toContain("a user's");
    expect(commands({ tlsCert: cert })[1]).toBe(
      `holdfast lock get hello --ca '${cert.replace("'", "'\\''")}' --server-name holdfast.internal`,
    );
    expect(commands({ tlsCert: cert, listen: 'localhost:50051' })[1]).not.toContain('--server-name');
  });
});

describe('the banner of a server that wants credentials', () => {
  it.each([
    [{ token: true, certificate: false }, ['export HOLDFAST_TOKEN_FILE=FILE']],
    [{ token: false, certificate: true }, ['export HOLDFAST_CERT=FILE HOLDFAST_KEY=FILE']],
    [
      { token: true, certificate: true },
      ['export HOLDFAST_TOKEN_FILE=FILE', 'export HOLDFAST_CERT=FILE HOLDFAST_KEY=FILE'],
    ],
  ])('names the variables of %j', (credentials, expected) => {
    expect(commands({ credentials }).filter((line) => line.startsWith('export'))).toEqual(expected);
  });
});
