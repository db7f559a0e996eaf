import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { type ChildExit, ChildSupervisor } from '../../../src/dev/child-supervisor';
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
