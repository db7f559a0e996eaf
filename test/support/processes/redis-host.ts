import { readFile } from 'node:fs/promises';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findRedisServer } from '../../../src/dev/find-redis';
import { eventually } from '../eventually';
import { ChildProgram } from './child-program';
import { startRedisContainer } from './redis-container';
import { makeScratchFolder } from './scratch-folder';

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
