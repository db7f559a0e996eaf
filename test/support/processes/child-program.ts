import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { type ChildExit, ChildSupervisor } from '../../../src/dev/child-supervisor';
import { fetchPackages, machineName } from '../../../src/dev/debian-packages';
import { runCommand } from '../../../src/dev/run-command';
import { eventually } from '../eventually';
import { cached } from '../toolchains';

/** The variable with the lifeline's socket. Servers refuse unknown variables with the prefix HOLDFAST_. */
const VARIABLE = 'TEST_RUN_LIFELINE';

/**
 * The socket that the main process of the test run keeps open (global-setup.ts). Child processes end when the socket
 * closes, because the workers of a killed test run continue and would keep their servers alive.
 */
export function lifeline(): { readonly lifeline?: string } {
  const socket = process.env[VARIABLE];
  return socket === undefined ? {} : { lifeline: socket };
}

export function announceLifeline(socket: string): void {
  process.env[VARIABLE] = socket;
}

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

/**
 * A program in a separate process, for tests, the fault suite and the benchmarks. The process ends with the test run,
 * even after SIGKILL of the test run. A test still closes the program.
 */
export class ChildProgram {
  /** Every line that the program has printed. */
  readonly output: string[] = [];
  /** The exit code or signal of the process. Undefined while the process runs. */
  exit: ChildExit | undefined;
  private readonly supervisor: ChildSupervisor;

  constructor(private readonly options: ChildProgramOptions) {
    const { command = process.execPath, args, env = inheritedEnvironment(), logFile, removeAtEnd } = options;
    this.supervisor = new ChildSupervisor({
      command,
      args: [...args],
      env,
      graceMs: 0,
      ...(logFile !== undefined && { logFile }),
      ...(removeAtEnd !== undefined && { removeAtEnd }),
      ...lifeline(),
      onExit: (exit) => (this.exit = exit),
      onOutput: (...pipes) => pipes.forEach((pipe) => this.collect(pipe)),
    });
  }

  /** Starts the process. May be called again after the end of the process. */
  async start(): Promise<void> {
    this.exit = undefined;
    await this.supervisor.start();
  }

  /** Undefined while the process does not run. */
  get runningPid(): number | undefined {
    return this.supervisor.pid;
  }

  /** Throws while the process does not run. */
  get pid(): number {
    const { pid } = this.supervisor;
    if (pid === undefined) throw new Error(`${this.options.label} has ended`);
    return pid;
  }

  /** Throws if the process has ended. */
  signal(signal: NodeJS.Signals): void {
    if (this.supervisor.signal(signal)) return;
    throw new Error(`${signal}: ${this.options.label} has ended\n${this.output.join('\n')}`);
  }

  /** Waits for the end of the process. */
  ended(timeoutMs: number): Promise<ChildExit> {
    return eventually(`${this.options.label} to end`, () => this.exit, { timeoutMs });
  }

  /** Kills the process if the process runs, and removes its folder. */
  async close(): Promise<void> {
    await this.supervisor.end();
  }

  private collect(pipe: Readable): void {
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
