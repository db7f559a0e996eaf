import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ROOT } from '../../../test/support/root';

export type Message = Readonly<Record<string, unknown>>;

/** A line of the driver, with the time of its receipt (ms, monotonic clock). */
export interface Told {
  readonly message: Message;
  readonly at: number;
  isTaken: boolean;
}

/** One process of a driver. */
export class DriverProcess {
  readonly events: Told[] = [];
  readonly results = new Map<number, Told>();
  /** The first broken rule of the protocol. */
  problem: string | undefined;
  isReady = false;
  isEnded = false;
  exitText: string | undefined;
  exitCode: number | null | undefined;
  private readonly child: ChildProcessWithoutNullStreams;

  constructor(
    command: readonly string[],
    private readonly sent: ReadonlySet<number>,
    private readonly log: (line: string) => void,
  ) {
    const [program = '', ...args] = command;
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !name.startsWith('HOLDFAST_')),
    );
    this.child = spawn(program, args, { cwd: ROOT, env, stdio: 'pipe' });
    this.child.on('error', (error) => this.fail(`the driver does not start: ${error.message}`));
    this.child.stdin.on('error', () => undefined);
    createInterface({ input: this.child.stdout }).on('line', (line) => this.read(line));
    createInterface({ input: this.child.stderr }).on('line', (line) => this.log(`driver log: ${line}`));
    this.child.on('close', (code, signal) => {
      this.exitCode = code;
      this.exitText = signal ?? `code ${code}`;
      this.log(`driver exit: ${this.exitText}`);
    });
  }

  /** 0 if the driver has not started. */
  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Returns the time before the command was written (ms, monotonic clock). */
  send(command: Message): number {
    const line = JSON.stringify(command);
    this.log(`driver < ${line}`);
    const at = performance.now();
    this.child.stdin.write(`${line}\n`);
    return at;
  }

  signal(signal: NodeJS.Signals): void {
    this.log(`driver < ${signal}`);
    this.child.kill(signal);
    if (signal === 'SIGKILL') this.isEnded = true;
  }

  endInput(): void {
    this.log('driver < end of stdin');
    this.isEnded = true;
    this.child.stdin.end();
  }

  private read(line: string): void {
    this.log(`driver > ${line}`);
    const at = performance.now();
    let message: Message;
    try {
      message = JSON.parse(line) as Message;
    } catch {
      return this.fail(`the driver wrote a line that is no JSON: ${line}`);
    }
    const { id, event } = message;
    if (message['ready'] === true) this.isReady = message['protocol'] === 1;
    else if (typeof event === 'string') this.events.push({ message, at, isTaken: false });
    else if (typeof id !== 'number' || !this.sent.has(id)) this.fail(`no command has the id of ${line}`);
    else if (this.results.has(id)) this.fail(`the result ${id} came twice`);
    else this.results.set(id, { message, at, isTaken: false });
  }

  private fail(problem: string): void {
    this.problem ??= problem;
    this.log(`! ${problem}`);
  }
}
