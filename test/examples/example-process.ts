import type { ChildExit } from '../../src/dev/child-supervisor';
import { eventually } from '../support/eventually';
import { ChildProgram, inheritedEnvironment } from '../support/processes/child-program';
import type { Program } from '../support/toolchains';

/** Long enough for a machine with busy cores. */
const WAIT_TIMEOUT_MS = 30_000;

interface Line {
  readonly text: string;
  /** The time of `performance.now()` at which the line arrived. */
  readonly at: number;
}

export interface ExampleProcessOptions {
  /**
   * A file to which the process appends its output, instead of `lines`. Several processes with one file keep the order of
   * all their lines.
   */
  readonly appendTo?: string;
}

/** A program of the examples in a process of its own, with its output and exit code. */
export class ExampleProcess {
  readonly lines: Line[] = [];
  private readonly child: ChildProgram;

  private constructor({ command, env }: Program, args: readonly string[], options: ExampleProcessOptions) {
    const { appendTo } = options;
    const start = [...command, ...args];
    const redirected =
      appendTo === undefined ? start : ['/bin/sh', '-c', 'exec "$@" >>"$0"', appendTo, ...start];
    const [program = '', ...rest] = redirected;
    this.child = new ChildProgram({
      label: 'the example',
      command: program,
      args: rest,
      env: { ...inheritedEnvironment(), ...env },
      onLine: (text) => this.lines.push({ text, at: performance.now() }),
    });
  }

  static async start(
    program: Program,
    args: readonly string[],
    options: ExampleProcessOptions = {},
  ): Promise<ExampleProcess> {
    const started = new ExampleProcess(program, args, options);
    await started.child.start();
    return started;
  }

  get output(): string {
    return this.lines.map(({ text }) => text).join('\n');
  }

  /**
   * Waits for the first line that matches, also among the lines that are already printed.
   * @param after lines that arrived earlier do not count (a time of `performance.now()`)
   */
  async line(
    pattern: RegExp,
    { timeoutMs = WAIT_TIMEOUT_MS, after = 0 } = {},
  ): Promise<{ match: RegExpExecArray; at: number }> {
    const find = () => {
      for (const { text, at } of this.lines) {
        const match = at >= after && pattern.exec(text);
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
