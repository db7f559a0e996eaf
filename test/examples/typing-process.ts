import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { ChildExit } from '../../src/dev/child-supervisor';
import { eventually } from '../support/eventually';
import { inheritedEnvironment } from '../support/processes/child-program';
import type { Program } from '../support/toolchains';

/** A program that reads its standard input. The input ends with the test run, and the program ends with its input. */
export class TypingProcess {
  /** The lines of the standard output. */
  readonly lines: string[] = [];
  private readonly errors: string[] = [];
  private readonly child: ChildProcessWithoutNullStreams;
  private result: ChildExit | undefined;

  constructor({ command: [program, ...first], env }: Program, args: readonly string[]) {
    this.child = spawn(program, [...first, ...args], { env: { ...inheritedEnvironment(), ...env } });
    createInterface({ input: this.child.stdout }).on('line', (line) => this.lines.push(line));
    createInterface({ input: this.child.stderr }).on('line', (line) => this.errors.push(line));
    // A write to a program that has ended fails. Its exit code says more.
    this.child.stdin.on('error', () => undefined);
    this.child.on('error', (error) => this.errors.push(error.message));
    this.child.on('close', (code, signal) => (this.result = { code, signal }));
  }

  /** Types the lines in one write. */
  type(...lines: readonly string[]): void {
    this.child.stdin.write(lines.map((line) => `${line}\n`).join(''));
  }

  /** Ends the input. */
  end(): void {
    this.child.stdin.end();
  }

  /** Waits for the first line that matches, also of the error output. */
  line(pattern: RegExp): Promise<string> {
    return this.seen(`a line ${pattern}`, () => this.printed.find((line) => pattern.test(line)));
  }

  /** Waits for the end of the program and of its output. */
  exit(): Promise<ChildExit> {
    return this.seen('the program to end', () => this.result);
  }

  async close(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exit();
  }

  private get printed(): string[] {
    return [...this.lines, ...this.errors];
  }

  private seen<T>(what: string, find: () => T | undefined) {
    return eventually(what, find, { timeoutMs: 30_000 }).catch((error: Error) => {
      throw new Error(`${error.message}; the program has printed:\n${this.printed.join('\n')}`);
    });
  }
}
