import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { ChildSupervisor, type ChildExit } from '../../../src/dev/child-supervisor';
import { eventually } from '../eventually';
import { lifeline } from './lifeline';

export interface ChildProgramOptions {
  /** The name of the program in error texts. */
  readonly label: string;
  /** The executable file. Default: the Node of this process. */
  readonly command?: string;
  readonly args: readonly string[];
  /** The whole environment of the process. Default: `inheritedEnvironment()`. */
  readonly env?: NodeJS.ProcessEnv;
  /** The output goes to this file instead of `output`. */
  readonly logFile?: string;
  /** A folder that is removed when the program is closed. */
  readonly removeAtEnd?: string;
  readonly onLine?: (line: string) => void;
}

/** The variables that every program needs. Settings of the test run itself are left out. */
export function inheritedEnvironment(): Record<string, string> {
  const { PATH, HOME, TMPDIR } = process.env;
  const entries = Object.entries({ PATH, HOME, TMPDIR }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Record<string, string>;
}

/**
 * A program in a process of its own, for tests, the fault suite and the benchmarks. The process ends when the test run
 * ends, even by SIGKILL; a test closes the program nevertheless.
 */
export class ChildProgram {
  /** Every line that the program has printed. */
  readonly output: string[] = [];
  /** How the process ended; undefined while it runs. */
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

  /** Starts the process; may be called again after it has ended. */
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

  /** Ends the process by SIGKILL if it runs, and removes its folder. */
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
