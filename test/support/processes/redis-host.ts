import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findRedisServer } from '../../../src/dev/find-redis';
import { eventually } from '../eventually';
import { makeScratchFolder } from '../scratch-folder';
import { ChildProgram } from './child-program';

const IMAGE = 'redis:7-bookworm';
const REDIS_PORT = 6379;

/** Starts Redis in a container, for machines that have Docker but neither a redis-server nor Debian packages. */
async function startRedisContainer(port: number, args: readonly string[]): Promise<RedisHost> {
  const { GenericContainer, getContainerRuntimeClient } = await import('testcontainers');
  const started = await new GenericContainer(IMAGE)
    .withCommand(['redis-server', '--port', String(REDIS_PORT), ...args])
    .withExposedPorts({ container: REDIS_PORT, host: port })
    .start();
  const runtime = await getContainerRuntimeClient();
  const container = runtime.container.getById(started.getId());
  let fresh = true;
  return {
    pid: undefined,
    folder: undefined,
    hasEnded: async () => !(await container.inspect()).State.Running,
    start: async () => {
      // A new container already runs. A killed container starts again with the same data and port.
      if (!fresh) await container.start();
      fresh = false;
    },
    signal: async (signal) => {
      if (signal === 'SIGSTOP') await container.pause();
      else if (signal === 'SIGCONT') await container.unpause();
      else await container.kill({ signal });
    },
    logTail: async () => (await container.logs({ stdout: true, stderr: true, tail: 40 })).toString(),
    remove: async () => void (await started.stop()),
  };
}

/** The process or container of a test's Redis. After a kill, Redis can start again with the same data. */
export interface RedisHost {
  /** The process id. Undefined in a container or after the end. */
  readonly pid: number | undefined;
  /** The folder of the data. Undefined in a container. */
  readonly folder: string | undefined;
  /** True if Redis has ended or was killed, and was not started again. */
  hasEnded(): Promise<boolean>;
  start(): Promise<void>;
  /** Sends a signal. Resolves after SIGSTOP has paused Redis, or after SIGKILL has ended Redis. */
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void>;
  /** The end of the log of Redis. */
  logTail(): Promise<string>;
  /** Ends Redis and removes its data. */
  remove(): Promise<void>;
}

export type Environment = Readonly<Record<string, string>>;

export interface HostOptions {
  readonly port: number;
  readonly args: readonly string[];
  readonly env?: Environment;
  /** The lines of a Sentinel's configuration file. Without them the process is a Redis. */
  readonly sentinel?: readonly string[];
  /** Keeps the data in memory if the machine has a tmpfs. */
  readonly inMemory?: boolean;
}

const SIGNAL_TIMEOUT_MS = 60_000;

/** True if the state of the process in `stat` is T. Always true on other systems than Linux. */
async function isStopped(pid: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  return / [Tt] /.test((await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/.*\)/, ''));
}

/** Uses a redis-server on the PATH, or the redis-server that `npm start` unpacks. */
async function openProcess({ port, args, env, sentinel, inMemory = false }: HostOptions): Promise<RedisHost> {
  const server = await findRedisServer({ env: process.env, note: (text) => console.error(text) });
  const folder = makeScratchFolder('redis', { inMemory });
  const logFile = join(folder, 'redis.log');
  const first: string[] = [];
  if (sentinel !== undefined) {
    const file = join(folder, 'sentinel.conf');
    writeFileSync(file, sentinel.map((line) => `${line}\n`).join(''));
    first.push(file, '--sentinel');
  }
  const child = new ChildProgram({
    label: 'this Redis',
    command: server.command,
    args: [...first, '--bind', '127.0.0.1', '--port', String(port), '--dir', folder, ...args],
    env: { ...server.env, ...env },
    logFile,
    removeAtEnd: folder,
  });
  return {
    get pid() {
      return child.runningPid;
    },
    folder,
    hasEnded: async () => child.runningPid === undefined,
    start: () => child.start(),
    signal: async (signal) => {
      const pid = child.runningPid;
      child.signal(signal);
      if (signal === 'SIGKILL') await child.ended(SIGNAL_TIMEOUT_MS);
      if (signal !== 'SIGSTOP') return;
      const stopped = (): Promise<boolean> => isStopped(Number(pid));
      await eventually('Redis to be paused', stopped, { timeoutMs: SIGNAL_TIMEOUT_MS });
    },
    logTail: async () => (await readFile(logFile, 'utf8').catch(() => '')).slice(-2000),
    remove: () => child.close(),
  };
}

/**
 * Opens a process of this machine, or a container if no redis-server can be found. A test never uses an existing Redis,
 * because tests stop, kill and empty their Redis. A machine without both fails the test, because a skipped test proves
 * nothing.
 */
export async function openHost(options: HostOptions): Promise<RedisHost> {
  try {
    return await openProcess(options);
  } catch (noProcess) {
    // The nodes of a Cluster and of Sentinel must reach each other. Containers with one open port cannot reach each
    // other.
    if (options.sentinel !== undefined || options.args.includes('--cluster-enabled')) throw noProcess;
    return startRedisContainer(options.port, options.args).catch((noContainer: Error) => {
      throw new Error(`${(noProcess as Error).message}\nand no container either: ${noContainer.message}`);
    });
  }
}
