import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { createServer, Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fetchPackages, machineName } from '../../../src/dev/debian-packages';
import { runCommand } from '../../../src/dev/run-command';
import { eventually } from '../eventually';
import { cached } from '../toolchains';
import { Guard } from './run-guard';

export interface ChildProgramOptions {
  /** The name of the program in error texts. */
  readonly label: string;
  /** The executable file. Default: the Node of this process. */
  readonly command?: string;
  readonly args: readonly string[];
  /** The whole environment of the process. Default: `inheritedEnvironment()`. */
  readonly env?: NodeJS.ProcessEnv;
  /** The file for the output. Default: the output goes to `output`. */
  readonly logFile?: string;
  /** A folder that `close` removes. */
  readonly removeAtEnd?: string;
  readonly onLine?: (line: string) => void;
}

/** The variables that every program needs, without the settings of the test run. */
export function inheritedEnvironment(): Record<string, string> {
  const { PATH, HOME, TMPDIR } = process.env;
  const entries = Object.entries({ PATH, HOME, TMPDIR }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Record<string, string>;
}

/** The exit code or the signal of an ended program. */
export interface ProgramExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The time in which the output of an ended program is read. A process that it has left may keep the pipe open. */
const LAST_OUTPUT_MS = 200;

/**
 * A program in a separate process, for tests, the fault suite and the benchmarks. The process has its own terminal
 * session, which Ctrl-C does not reach, and ends with the test run, even after SIGKILL of the test run. A test still
 * closes the program.
 */
export class ChildProgram {
  /** Every line that the program has printed. */
  readonly output: string[] = [];
  /** The exit code or signal of the process. Undefined while the process runs. */
  exit: ProgramExit | undefined;
  private child: ChildProcess | undefined;
  private starting: Promise<void> | undefined;
  private hasFolder = false;

  constructor(private readonly options: ChildProgramOptions) {}

  /** Starts the process. May be called again after the end of the process. Rejects if the program cannot be run. */
  async start(): Promise<void> {
    this.starting ??= this.startOnce().finally(() => (this.starting = undefined));
    return this.starting;
  }

  private async startOnce(): Promise<void> {
    if (this.child !== undefined) return;
    const {
      command = process.execPath,
      args,
      env = inheritedEnvironment(),
      logFile,
      removeAtEnd,
    } = this.options;
    const guard = await Guard.open();
    if (removeAtEnd !== undefined && !this.hasFolder) guard.made(removeAtEnd);
    this.hasFolder = removeAtEnd !== undefined;
    this.exit = undefined;
    const output = logFile === undefined ? 'pipe' : openSync(logFile, 'a', 0o600);
    const child = spawn(command, args, { env, detached: true, stdio: ['ignore', output, output] });
    if (typeof output === 'number') closeSync(output);
    const { pid } = child;
    if (pid === undefined) {
      const [error] = (await once(child, 'error')) as [Error];
      throw new Error(`${command}: ${error.message}`);
    }
    guard.runs(pid);
    this.child = child;
    // A signal to a process that has just ended.
    child.on('error', () => undefined);
    child.on('exit', (code, signal) => {
      guard.ended(pid);
      const report = (): void => {
        clearTimeout(timer);
        child.off('close', report);
        this.child = undefined;
        this.exit = { code, signal };
      };
      // Node reads sockets between timers and immediates, so the last output is read also after a pause of this process.
      const timer = setTimeout(() => setImmediate(report), LAST_OUTPUT_MS);
      child.on('close', report);
    });
    child.unref();
    for (const pipe of [child.stdout, child.stderr]) if (pipe) this.collect(pipe);
  }

  /** Undefined while the process does not run. */
  get runningPid(): number | undefined {
    return this.child?.pid;
  }

  /** Throws while the process does not run. */
  get pid(): number {
    const { runningPid } = this;
    if (runningPid === undefined) throw new Error(`${this.options.label} has ended`);
    return runningPid;
  }

  /** Throws if the process has ended. */
  signal(signal: NodeJS.Signals): void {
    if (this.child?.kill(signal)) return;
    throw new Error(`${signal}: ${this.options.label} has ended\n${this.output.join('\n')}`);
  }

  /** Waits for the end of the process. */
  ended(timeoutMs: number): Promise<ProgramExit> {
    return eventually(`${this.options.label} to end`, () => this.exit, { timeoutMs });
  }

  /** Kills the process if the process runs, and removes its folder. */
  async close(): Promise<void> {
    await this.starting?.catch(() => undefined);
    const { child } = this;
    if (child !== undefined) {
      child.kill('SIGKILL');
      await eventually(`${this.options.label} to end`, () => this.child !== child);
    }
    const { removeAtEnd } = this.options;
    if (removeAtEnd === undefined) return;
    await rm(removeAtEnd, { recursive: true, force: true });
    if (this.hasFolder) (await Guard.open()).removed(removeAtEnd);
    this.hasFolder = false;
  }

  private collect(pipe: Readable): void {
    if (pipe instanceof Socket) pipe.unref();
    createInterface({ input: pipe }).on('line', (line) => {
      this.output.push(line);
      this.options.onLine?.(line);
    });
  }
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Waits until no process has this id. */
export function untilGone(pid: number, timeoutMs = 20_000): Promise<true> {
  return eventually(`process ${pid} to be gone`, () => !isAlive(pid), { timeoutMs });
}

/**
 * The range lies below the kernel's range of client ports. A client that retries a port of the kernel's range without a
 * listener may get that port as its own, connect to itself, and keep the restarted server from the port.
 */
const FROM = 15_000;
/** Each worker of Jest has a range of its own: between the check of a port and its use another worker could take the port. */
const RANGE = 4000;
const WORKERS = 4;
const first = FROM + (Number(process.env['JEST_WORKER_ID'] ?? 0) % WORKERS) * RANGE;
const given = new Set<number>();

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}

/** A port of the loopback address that has no listener now. Each call gives another port. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(first, first + RANGE);
    if (given.has(port)) continue;
    if (given.size >= RANGE / 2) given.clear();
    given.add(port);
    if (await isFree(port)) return port;
  }
}

export interface UnpackedProgram {
  readonly command: string;
  readonly env: NodeJS.ProcessEnv;
}

const TRY_TIMEOUT_MS = 30_000;

/**
 * A program of a Debian package: from the PATH, or unpacked into the user's cache without root. Nothing is installed.
 * Resolves to the reason if neither is possible.
 *
 * @param path the program inside of the package
 * @param versionFlag an argument with which the program ends successfully
 */
export async function unpackedProgram(
  packageName: string,
  path: string,
  versionFlag: string,
): Promise<UnpackedProgram | { readonly missing: string }> {
  const runs = async (program: UnpackedProgram): Promise<boolean> =>
    (await runCommand(program.command, [versionFlag], { env: program.env, timeoutMs: TRY_TIMEOUT_MS }))
      .code === 0;
  const installed = { command: basename(path), env: process.env };
  if (await runs(installed)) return installed;
  try {
    const folder = await cached(`${packageName}-${await machineName()}`, async (target) => {
      const scratch = join(target, `fetch-${randomUUID()}`);
      const problem = await fetchPackages([[packageName]], process.env, scratch, target);
      await rm(scratch, { recursive: true, force: true });
      if (problem !== undefined) throw new Error(problem);
    });
    const program = { command: join(folder, path), env: await withLibraries(folder) };
    if (existsSync(program.command) && (await runs(program))) return program;
    return { missing: `${program.command} does not run` };
  } catch (error) {
    return { missing: `the package ${packageName} could not be unpacked: ${(error as Error).message}` };
  }
}

async function withLibraries(folder: string): Promise<NodeJS.ProcessEnv> {
  const files = await readdir(folder, { recursive: true });
  const libraries = files.filter((file) => /\.so(\.|$)/.test(basename(file)));
  const paths = [...new Set(libraries.map((file) => join(folder, dirname(file))))];
  return { ...process.env, LD_LIBRARY_PATH: paths.join(':') };
}
