import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../eventually';
import { inheritedEnvironment } from '../processes/child-program';
import { ROOT } from '../root';

export interface CliOptions {
  /** Added to PATH, HOME and TMPDIR. */
  readonly env?: Readonly<Record<string, string>>;
  /** The whole environment, in place of PATH, HOME and TMPDIR. */
  readonly onlyEnv?: Readonly<Record<string, string>>;
  /** The text on stdin. Default: stdin is at its end. */
  readonly input?: string;
}

export interface CliExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The path of the built program `holdfast`. */
export function cliProgram(): string {
  const program = join(ROOT, 'dist', 'src', 'cli', 'main.js');
  if (!existsSync(program)) throw new Error(`${program} is missing: run "npm run build"`);
  return program;
}

/** Enough for a machine with busy cores. */
const END_TIMEOUT_MS = 60_000;

/** A run of `holdfast` that a test watches. */
export abstract class WatchedRun<Exit> {
  abstract readonly stdout: string;
  stderr = '';
  exit: Exit | undefined;

  abstract signal(signal: NodeJS.Signals): void;

  /** Waits for the end of the program, and of everything that still has its output. */
  ended(timeoutMs = END_TIMEOUT_MS): Promise<Exit> {
    return eventually(`the end of holdfast; stderr: ${this.stderr}`, () => this.exit, { timeoutMs });
  }

  /** Waits until the text is on stdout. */
  prints(text: string): Promise<true> {
    return eventually(`"${text}" on stdout`, () => this.stdout.includes(text), { timeoutMs: END_TIMEOUT_MS });
  }

  /** Kills the program, and thereby its command, if the program still runs. */
  async close(): Promise<void> {
    if (this.exit !== undefined) return;
    this.signal('SIGKILL');
    await this.ended();
  }
}

/** The built program `holdfast` in a separate process, without a terminal. */
export class CliProcess extends WatchedRun<CliExit> {
  stdout = '';
  readonly child: ChildProcess;

  constructor(args: readonly string[], { env = {}, onlyEnv, input = '' }: CliOptions = {}) {
    super();
    this.child = spawn(process.execPath, [cliProgram(), ...args], {
      env: onlyEnv ?? { ...inheritedEnvironment(), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    // "close" comes after the end of all output, and so after the end of the command and the watchdog.
    this.child.on('close', (code, signal) => (this.exit = { code, signal }));
    // A command may end before it has read its input.
    this.child.stdin?.on('error', () => undefined).end(input);
  }

  get pid(): number {
    const { pid } = this.child;
    if (pid === undefined) throw new Error('holdfast was not started');
    return pid;
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }
}

export interface ProcessState {
  readonly pid: number;
  /** A letter: R, S, D, T, Z and others. */
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly command: string;
}

/** The running processes of this machine, from /proc. */
export function allProcesses(): ProcessState[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => processState(Number(name)) ?? []);
}

/** Undefined: no process has this id. */
export function processState(pid: number): ProcessState | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state = '', ...numbers] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [parent = NaN, group = NaN, session = NaN] = numbers.slice(0, 3).map(Number);
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    return { pid, state, parent, group, session, command };
  } catch {
    return undefined;
  }
}

/** Whether the process can still do something. A zombie cannot. */
export function isRunning(pid: number): boolean {
  const state = processState(pid)?.state;
  return state !== undefined && state !== 'Z' && state !== 'X';
}

/** The watchdog that this process has started. */
export function watchdogOf(parent: number): ProcessState | undefined {
  return allProcesses().find((one) => one.parent === parent && one.command.includes('watchdog.js'));
}

/** The launcher that this watchdog has started. */
export function launcherOf(watchdog: number): ProcessState | undefined {
  return allProcesses().find((one) => one.parent === watchdog && one.command.includes('launcher.js'));
}
