import { spawn } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { isSupportedRedis, OLDEST_REDIS } from '../base/redis-address';

export interface CommandResult {
  /** The exit code. Null: the command could not be run, was killed, or took too long. */
  readonly code: number | null;
  readonly stdout: string;
  /** The standard error. Ends with the reason if the command could not be run or was killed. */
  readonly stderr: string;
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly timeoutMs: number;
}

/** Runs a command to its end. Never rejects, because the result also reports a missing command. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const { timeoutMs, ...rest } = options;
    const child = spawn(command, [...args], { ...rest, stdio: ['ignore', 'pipe', 'pipe'] });
    // The `timeout` of spawn is not used, because its timer keeps this process alive if the command does not exist.
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    const settle = (result: CommandResult): void => {
      clearTimeout(timer);
      resolve(result);
    };
    child.on('error', (error) => settle({ code: null, stdout: '', stderr: error.message }));
    child.on('close', (code, signal) => {
      const killed = signal === null ? '' : `ended by ${signal} (time limit ${timeoutMs / 1000} s)`;
      const stderr = `${Buffer.concat(err).toString()}${killed}`;
      settle({ code, stdout: Buffer.concat(out).toString(), stderr });
    });
  });
}

/** A Redis server program that runs on this machine, and the environment that it needs. */
export interface RedisServerProgram {
  readonly command: string;
  readonly env: NodeJS.ProcessEnv;
  /** "Redis" or "Valkey". */
  readonly product: string;
  readonly version: string;
}

/** The reason why a program cannot be used. */
export interface Refusal {
  readonly refused: string;
}

const VERSION_TIMEOUT_MS = 10_000;

/** Parses "Redis server v=7.0.15 sha=…" or "Valkey server v=8.1.1 sha=…". */
function parseVersion(line: string): { product: string; version: string } | undefined {
  const [, product, version] = /^(\w+) server v=(\d+\.\d+\.\d+)/.exec(line) ?? [];
  return product !== undefined && version !== undefined ? { product, version } : undefined;
}

/** Runs `<command> --version`. This call fails if the program or one of its libraries is missing. */
export async function tryServer(
  command: string,
  env: NodeJS.ProcessEnv,
): Promise<RedisServerProgram | Refusal> {
  const result = await runCommand(command, ['--version'], { env, timeoutMs: VERSION_TIMEOUT_MS });
  if (result.code !== 0) return { refused: `${command} does not run: ${result.stderr.trim()}` };
  const found = parseVersion(result.stdout);
  if (!found) {
    return { refused: `${command} is not Redis: its version text is "${result.stdout.trim().slice(0, 80)}"` };
  }
  if (!isSupportedRedis(found.version)) {
    return { refused: `${command} is version ${found.version}; version ${OLDEST_REDIS} or newer is needed` };
  }
  return { command, env, ...found };
}

/** With less free space, Redis cannot be expected to write its data. */
const LEAST_FREE_BYTES = 1024 * 1024;
/** How Redis and the system call a full disk or an exhausted quota. */
const DISK_FULL = /no space left|short write|disk quota exceeded/i;

/** The free space of a folder's file system for this user, in bytes. Undefined: the system does not tell. */
export async function freeBytes(folder: string): Promise<number | undefined> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    // Some virtual file systems report no blocks at all.
    return blocks > 0 ? bavail * bsize : undefined;
  } catch {
    return undefined;
  }
}

export async function isFull(folder: string): Promise<boolean> {
  const free = await freeBytes(folder);
  return free !== undefined && free < LEAST_FREE_BYTES;
}

export function diskFullText(folder: string): string {
  return `The disk of ${folder} is full: free some space`;
}

/** True: a call of this process failed because a disk is full or a quota is exhausted. */
export function isDiskError(error: unknown): boolean {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** True if the output of a program complains about a full disk. */
export function complainsOfFullDisk(output: string): boolean {
  return DISK_FULL.test(output);
}
