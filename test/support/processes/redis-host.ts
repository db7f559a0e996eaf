import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChildSupervisor, type ChildExit } from '../../../src/dev/child-supervisor';
import { findRedisServer } from '../../../src/dev/redis-server';
import { startRedisContainer } from './redis-container';
import { eventually } from '../eventually';
import { lifeline } from './lifeline';

/** Where a test's Redis runs: it may be started again on the same data after it was killed. */
export interface RedisHost {
  /** The process id where it is a process of this machine's that can be seen. */
  readonly pid: number | undefined;
  /** Where its data are, if they can be got at from here. */
  readonly folder: string | undefined;
  /** It has ended, by itself or killed, and was not started again. */
  hasEnded(): Promise<boolean>;
  start(): Promise<void>;
  /** SIGSTOP has taken effect, and SIGKILL has ended it, when this resolves. */
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void>;
  lastWords(): Promise<string>;
  /** Ends it and removes its data. */
  remove(): Promise<void>;
}

export type Environment = Readonly<Record<string, string>>;

export interface HostOptions {
  readonly port: number;
  readonly args: readonly string[];
  readonly env?: Environment;
  /** A Sentinel, which keeps what it knows in its configuration file: the lines of that. */
  readonly sentinel?: readonly string[];
}

export type HostOpener = (options: HostOptions) => Promise<RedisHost>;

/** 'T' in the third field: stopped. Elsewhere than on Linux the signal is taken to have worked. */
async function isStopped(pid: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  return / [Tt] /.test((await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/.*\)/, ''));
}

/** A redis-server of this machine: on the PATH, or unpacked as for `npm start`. */
async function openProcess({ port, args, env = {}, sentinel }: HostOptions): Promise<RedisHost> {
  const server = await findRedisServer({ env: process.env, note: (text) => console.error(text) });
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-test-redis-'));
  const logFile = join(folder, 'redis.log');
  const first: string[] = [];
  if (sentinel !== undefined) {
    const file = join(folder, 'sentinel.conf');
    await writeFile(file, sentinel.map((line) => `${line}\n`).join(''));
    first.push(file, '--sentinel');
  }
  let ended: (exit: ChildExit) => void = () => undefined;
  const guard = new ChildSupervisor({
    command: server.command,
    args: [...first, '--bind', '127.0.0.1', '--port', String(port), '--dir', folder, ...args],
    env: { ...server.env, ...env },
    logFile,
    graceMs: 0,
    removeAtEnd: folder,
    ...lifeline(),
    onExit: (exit) => ended(exit),
  });
  return {
    get pid() {
      return guard.pid;
    },
    folder,
    hasEnded: async () => guard.pid === undefined,
    start: async () => void (await guard.start()),
    signal: async (signal) => {
      const gone = new Promise<unknown>((resolve) => (ended = resolve));
      const { pid } = guard;
      if (!guard.signal(signal) || pid === undefined) throw new Error(`${signal}: this Redis does not run`);
      if (signal === 'SIGKILL') await gone;
      if (signal === 'SIGSTOP') await eventually('Redis to be stopped', () => isStopped(pid));
    },
    lastWords: async () => (await readFile(logFile, 'utf8').catch(() => '')).slice(-2000),
    remove: () => guard.end(),
  };
}

/**
 * A process of this machine, or where no server can be had a container. Never a configured Redis: tests stop,
 * kill and empty theirs. Where there is neither, that is an error, for a skipped test proves nothing.
 */
export const openHost: HostOpener = async (options) => {
  try {
    return await openProcess(options);
  } catch (noProcess) {
    // Nodes that must find each other cannot each be in a box of their own.
    if (options.sentinel !== undefined || options.args.includes('--cluster-enabled')) throw noProcess;
    return startRedisContainer(options.port, options.args).catch((noContainer: Error) => {
      throw new Error(`${(noProcess as Error).message}\nand no container either: ${noContainer.message}`);
    });
  }
};
