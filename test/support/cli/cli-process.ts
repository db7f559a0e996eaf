import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
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

/** Enough for a machine with busy cores. */
const END_TIMEOUT_MS = 60_000;

/** The path of the built program `holdfast`. */
export function cliProgram(): string {
  const program = join(ROOT, 'dist', 'src', 'cli', 'main.js');
  if (!existsSync(program)) throw new Error(`${program} is missing: run "npm run build"`);
  return program;
}

/** The built program `holdfast` in a separate process, without a terminal. */
export class CliProcess {
  stdout = '';
  stderr = '';
  exit: CliExit | undefined;
  readonly child: ChildProcess;

  constructor(args: readonly string[], { env = {}, onlyEnv, input = '' }: CliOptions = {}) {
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

  /** Waits for the end of the program, and of everything that still has its output. */
  ended(timeoutMs = END_TIMEOUT_MS): Promise<CliExit> {
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
