import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { ChildSupervisor, type ChildExit } from '../../src/dev/child-supervisor';
import { eventually } from '../support/eventually';
import { lifeline } from '../support/processes/lifeline';

/** The command that starts a worker. */
export interface Launcher {
  readonly command: string;
  /** Before the worker's own arguments. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

interface Line {
  readonly text: string;
  /** On `performance.now()`. */
  readonly at: number;
}

/** A worker process, seen from a terminal: its output, its exit code, and signals to it. */
export class WorkerProcess {
  readonly lines: Line[] = [];
  private readonly supervisor: ChildSupervisor;
  private ended: (ChildExit & { readonly at: number }) | undefined;

  private constructor(launcher: Launcher, args: readonly string[]) {
    const { PATH = '', HOME = '' } = process.env;
    this.supervisor = new ChildSupervisor({
      command: launcher.command,
      args: [...launcher.args, ...args],
      env: { PATH, HOME, ...launcher.env },
      graceMs: 0,
      ...lifeline(),
      onExit: (exit) => (this.ended = { ...exit, at: performance.now() }),
      onOutput: (...pipes) => pipes.forEach((pipe) => this.collect(pipe)),
    });
  }

  static async start(launcher: Launcher, args: readonly string[]): Promise<WorkerProcess> {
    const worker = new WorkerProcess(launcher, args);
    await worker.supervisor.start();
    return worker;
  }

  get output(): string {
    return this.lines.map(({ text }) => text).join('\n');
  }

  /** Waits for the first line that matches. Lines that are already printed count too. */
  async line(pattern: RegExp, timeoutMs = 10_000): Promise<{ match: RegExpExecArray; at: number }> {
    const find = () => {
      for (const { text, at } of this.lines) {
        const match = pattern.exec(text);
        if (match) return { match, at };
      }
      return undefined;
    };
    return eventually(`a line ${pattern}`, find, { timeoutMs }).catch((error: Error) => {
      throw new Error(`${error.message}; the worker has printed:\n${this.output}`);
    });
  }

  has(pattern: RegExp): boolean {
    return this.lines.some(({ text }) => pattern.test(text));
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.supervisor.signal(signal)) {
      throw new Error(`${signal}: the worker has already ended; its output:\n${this.output}`);
    }
  }

  async exit(timeoutMs = 10_000): Promise<ChildExit> {
    const { code, signal } = await eventually('the worker to end', () => this.ended, { timeoutMs }).catch(
      (error: Error) => {
        throw new Error(`${error.message}; it has printed:\n${this.output}`);
      },
    );
    return { code, signal };
  }

  async close(): Promise<void> {
    await this.supervisor.end();
  }

  private collect(pipe: Readable): void {
    createInterface({ input: pipe }).on('line', (text) => this.lines.push({ text, at: performance.now() }));
  }
}
