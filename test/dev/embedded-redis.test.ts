import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Redis } from 'ioredis';
import { ChildSupervisor } from '../../src/dev/child-supervisor';
import { type EmbeddedOptions, EmbeddedRedis } from '../../src/dev/embedded-redis';
import { findRedisServer } from '../../src/dev/find-redis';
import { reasonsOf, RedisRestarts, type RedisRestartsOptions, RestartBackoff } from '../../src/dev/restarts';
import type { RedisServerProgram } from '../../src/dev/run-command';
import { eventually } from '../support/eventually';
import { scratchFolder } from '../support/scratch-folder';

/** A program that fails like a Redis on a full disk while the file `full` exists. It counts its starts in a file. */
function programOnDisk(
  redis: RedisServerProgram,
  { scratch, full, starts }: { scratch: string; full: string; starts: string },
): RedisServerProgram {
  const command = join(scratch, 'redis-server');
  const complaint = '12:M 22 Nov 2026 11:08:39.651 # Error writing to the AOF file: No space left on device';
  const script = `#!/bin/sh
echo start >> '${starts}'
if [ -e '${full}' ]; then echo '${complaint}'; exit 1; fi
exec '${redis.command}' "$@"
`;
  writeFileSync(command, script, { mode: 0o755 });
  return { ...redis, command };
}

describe('EmbeddedRedis', () => {
  let folder: string;
  let notes: string[];
  const running: EmbeddedRedis[] = [];

  beforeEach(() => {
    folder = join(scratchFolder(), '.holdfast');
    notes = [];
  });
  afterEach(async () => {
    for (const redis of running.splice(0)) await redis.stop();
    rmSync(dirname(folder), { recursive: true, force: true });
  });

  async function start(where = folder, more: Partial<EmbeddedOptions> = {}): Promise<EmbeddedRedis> {
    const redis = await EmbeddedRedis.start({
      folder: where,
      env: process.env,
      note: (text) => notes.push(text),
      ...more,
    });
    running.push(redis);
    return redis;
  }

  async function ask(redis: EmbeddedRedis, name: string, ...args: string[]): Promise<unknown> {
    const client = new Redis(redis.url, { maxRetriesPerRequest: 0, disconnectTimeout: 50 });
    client.on('error', () => undefined);
    try {
      return await client.call(name, args);
    } finally {
      client.disconnect();
    }
  }

  it('keeps every write on disk, evicts nothing, and opens no port', async () => {
    const redis = await start();
    const config = async (name: string): Promise<unknown> =>
      ((await ask(redis, 'CONFIG', 'GET', name)) as string[])[1];
    expect(await config('appendonly')).toBe('yes');
    expect(await config('appendfsync')).toBe('always');
    expect(await config('maxmemory-policy')).toBe('noeviction');
    expect(await config('port')).toBe('0');
  });

  it('reports isNew only for the first start in a folder, even if the data was removed later', async () => {
    const first = await start();
    expect(first.isNew).toBe(true);
    await first.stop();
    const again = await start();
    expect(again.isNew).toBe(false);
    await again.stop();
    rmSync(first.dataFolder, { recursive: true });
    const emptied = await start();
    expect(emptied.isNew).toBe(false);
  });

  it('gives only its user access to the socket and the data', async () => {
    const redis = await start();
    expect(statSync(redis.socket).mode & 0o777).toBe(0o700);
    expect(statSync(redis.dataFolder).mode & 0o777).toBe(0o700);
  });

  it('keeps its data across restarts', async () => {
    const first = await start();
    await ask(first, 'SET', 'kept', 'yes');
    await first.stop();
    const second = await start();
    expect(await ask(second, 'GET', 'kept')).toBe('yes');
  });

  it('restarts Redis with the same data when Redis is killed', async () => {
    const redis = await start();
    await ask(redis, 'SET', 'kept', 'yes');
    const before = Number(redis.pid);
    process.kill(before, 'SIGKILL');
    expect(await eventually('Redis to be back', () => ask(redis, 'GET', 'kept'))).toBe('yes');
    expect(redis.pid).not.toBe(before);
    expect(notes).toContainEqual(expect.stringMatching(/SIGKILL.*Restarting it/));
  });

  it('starts Redis again and again while its disk is full, says why, and recovers when there is space', async () => {
    const scratch = scratchFolder();
    const [full, starts] = [join(scratch, 'full'), join(scratch, 'starts')];
    const redis = await start(folder, {
      find: async (options) => programOnDisk(await findRedisServer(options), { scratch, full, starts }),
      restartDelays: { firstMs: 10, maxMs: 50 },
    });
    await ask(redis, 'SET', 'kept', 'yes');
    writeFileSync(full, '');
    process.kill(Number(redis.pid), 'SIGKILL');
    const startCount = () => readFileSync(starts, 'utf8').split('\n').length - 1;
    await eventually('ten starts', () => startCount() >= 10);
    const about = notes.filter((note) => note.includes('full'));
    expect(about).toEqual([
      expect.stringContaining('Redis: Error writing to the AOF file: No space left on device'),
    ]);
    expect(about).toEqual([
      expect.stringContaining(`The disk of ${redis.dataFolder} is full: free some space`),
    ]);
    rmSync(full);
    expect(await eventually('Redis to be back', () => ask(redis, 'GET', 'kept'))).toBe('yes');
    await eventually('the note', () => notes.includes('Redis runs again, with the same data'));
  });

  it('refuses a second start in the same folder, and names the process that holds the folder', async () => {
    const redis = await start();
    await expect(start()).rejects.toThrow(new RegExp(`already running in this folder \\(pid ${process.pid}`));
    expect(await ask(redis, 'PING')).toBe('PONG');
  });

  it('starts although a power loss left a lock file and a socket file', async () => {
    const dead = spawnSync(process.execPath, ['-e', 'console.log(process.pid)']).stdout.toString().trim();
    mkdirSync(folder);
    writeFileSync(join(folder, 'start.lock'), JSON.stringify({ pid: Number(dead), birth: 'long ago' }));
    writeFileSync(join(folder, 'redis.sock'), '');
    expect(await ask(await start(), 'PING')).toBe('PONG');
  });

  it('starts although an unrelated process has the process id of the lock file', async () => {
    mkdirSync(folder);
    writeFileSync(join(folder, 'start.lock'), JSON.stringify({ pid: process.ppid, birth: 'long ago' }));
    expect(await ask(await start(), 'PING')).toBe('PONG');
  });

  it('stops a Redis that an earlier start left running, and starts with the data of that Redis', async () => {
    const { command, env } = await findRedisServer({ env: process.env, note: () => undefined });
    const data = join(folder, 'redis');
    const socket = join(folder, 'redis.sock');
    mkdirSync(data, { recursive: true });
    const args = ['--port', '0', '--unixsocket', socket, '--dir', data, '--appendonly', 'yes'];
    const leftover = new ChildSupervisor({ command, args, env, graceMs: 0 });
    await leftover.start();
    await eventually('the leftover to answer', () => existsSync(socket));
    const client = new Redis(socket, { disconnectTimeout: 50 });
    await client.set('kept', 'yes');
    client.disconnect();
    const { pid } = leftover;
    const redis = await start();
    expect(notes).toContainEqual(expect.stringContaining(`(pid ${pid}) is still running`));
    expect(leftover.pid).toBeUndefined();
    expect(await ask(redis, 'GET', 'kept')).toBe('yes');
    await leftover.end();
  });

  it("rejects with the end of Redis's log when Redis does not start", async () => {
    mkdirSync(join(folder, 'redis', 'appendonlydir'), { recursive: true });
    writeFileSync(join(folder, 'redis', 'appendonlydir', 'appendonly.aof.manifest'), 'nonsense\n');
    await expect(start()).rejects.toThrow(/ended during its start[^]*redis\.log[^]*manifest/);
    // The failed start has released the folder.
    rmSync(join(folder, 'redis'), { recursive: true });
    expect(await ask(await start(), 'PING')).toBe('PONG');
  });

  it('rejects with the folder and the remedy when the disk is full during the start', async () => {
    const scratch = scratchFolder();
    const [full, starts] = [join(scratch, 'full'), join(scratch, 'starts')];
    writeFileSync(full, '');
    const fails = (find: EmbeddedOptions['find']) => expect(start(folder, { find: find! })).rejects;
    await fails(async (options) =>
      programOnDisk(await findRedisServer(options), { scratch, full, starts }),
    ).toThrow(/ended during its start[^]*No space left on device[^]*The disk of .* is full: free some space/);
    // This process may fail itself, for example when it writes the lock file.
    const error = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    await fails(() => Promise.reject(error)).toThrow(
      `The disk of ${folder} is full: free some space, then start again (${error.message})`,
    );
  });

  it('puts the socket into a private temporary folder when the path in the folder is too long', async () => {
    const deep = join(folder, 'a'.repeat(60), 'b'.repeat(60));
    const redis = await start(deep);
    expect(redis.socket.startsWith(deep)).toBe(false);
    expect(statSync(dirname(redis.socket)).mode & 0o077).toBe(0);
    expect(await ask(redis, 'CONFIG', 'GET', 'dir')).toEqual(['dir', join(deep, 'redis')]);
  });

  it('works in a folder with spaces and quotes in its name', async () => {
    const redis = await start(join(folder, `it's "odd" \u00fc`));
    expect(await ask(redis, 'PING')).toBe('PONG');
  });

  it('writes the log of Redis into the folder', async () => {
    const redis = await start();
    await redis.stop();
    expect(readFileSync(redis.logFile, 'utf8')).toMatch(/ready to exit/);
  });
});

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

const OUTPUT = `5949:C 22 Nov 2026 11:08:39.520 # oO0OoO0OoO0Oo Redis is starting oO0OoO0OoO0Oo
5949:C 22 Nov 2026 11:08:39.520 # Redis version=7.0.15, bits=64, commit=00000000, modified=0, pid=5949, just started
5949:C 22 Nov 2026 11:08:39.527 # Configuration loaded
5949:M 22 Nov 2026 11:08:39.530 # Server initialized
5949:M 22 Nov 2026 11:08:39.530 # WARNING Memory overcommit must be enabled!
5949:M 22 Nov 2026 11:08:39.535 * The server is now ready to accept connections at /tmp/redis.sock
`;
const FAILED = `${OUTPUT}5949:M 22 Nov 2026 11:08:39.651 # Short write while writing to the AOF file: (nwritten=2429, expected=6250)
5949:M 22 Nov 2026 11:08:39.651 # Can't recover from AOF write error when the AOF fsync policy is 'always'. Exiting...
`;

describe('reasonsOf', () => {
  it('returns the warnings of the log, without the warnings of every start', () => {
    expect(reasonsOf(FAILED)).toEqual([
      'Short write while writing to the AOF file: (nwritten=2429, expected=6250)',
      "Can't recover from AOF write error when the AOF fsync policy is 'always'. Exiting...",
    ]);
    expect(reasonsOf(OUTPUT)).toEqual([]);
  });

  it('returns the last three lines of any other output, each of at most 300 characters', () => {
    expect(reasonsOf('')).toEqual([]);
    expect(reasonsOf(`a\n\nb\nc\n${'d'.repeat(1000)}\n`)).toEqual(['b', 'c', 'd'.repeat(300)]);
  });
});
