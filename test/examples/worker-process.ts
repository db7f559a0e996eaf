import type { ChildExit } from '../../src/dev/child-supervisor';
import { eventually } from '../support/eventually';
import { ChildProgram } from '../support/processes/child-program';

/** Long enough for a machine with busy cores. */
const WAIT_TIMEOUT_MS = 20_000;

/** The command that starts a worker. */
export interface Launcher {
  readonly command: string;
  /** The arguments that come before the worker's own arguments. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

interface Line {
  readonly text: string;
  /** The time of `performance.now()` at which the line arrived. */
  readonly at: number;
}

/** A program of the examples in a process of its own, with its output and exit code. */
export class WorkerProcess {
  readonly lines: Line[] = [];
  private readonly child: ChildProgram;

  private constructor(launcher: Launcher, args: readonly string[]) {
    const { PATH = '', HOME = '' } = process.env;
    this.child = new ChildProgram({
      label: 'the worker',
      command: launcher.command,
      args: [...launcher.args, ...args],
      env: { PATH, HOME, ...launcher.env },
      onLine: (text) => this.lines.push({ text, at: performance.now() }),
    });
  }

  static async start(launcher: Launcher, args: readonly string[]): Promise<WorkerProcess> {
    const worker = new WorkerProcess(launcher, args);
    await worker.child.start();
    return worker;
  }

  get output(): string {
    return this.lines.map(({ text }) => text).join('\n');
  }

  /** Waits for the first line that matches, also among the lines that are already printed. */
  async line(pattern: RegExp, timeoutMs = WAIT_TIMEOUT_MS): Promise<{ match: RegExpExecArray; at: number }> {
    const find = () => {
      for (const { text, at } of this.lines) {
        const match = pattern.exec(text);
        if (match) return { match, at };
      }
      return undefined;
    };
    return eventually(`a line ${pattern}`, find, { timeoutMs }).catch((error: Error) => {
      throw new Error(`${error.message}; the program has printed:\n${this.output}`);
    });
  }

  has(pattern: RegExp): boolean {
    return this.lines.some(({ text }) => pattern.test(text));
  }

  signal(signal: NodeJS.Signals): void {
    this.child.signal(signal);
  }

  async exit(timeoutMs = WAIT_TIMEOUT_MS): Promise<ChildExit> {
    return this.child.ended(timeoutMs).catch((error: Error) => {
      throw new Error(`${error.message}; it has printed:\n${this.output}`);
    });
  }

  async close(): Promise<void> {
    await this.child.close();
  }
}
