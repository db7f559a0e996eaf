import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ROOT } from '../../test/support/root';

/** An answer of a driver, such as `{"id":1,"held":1000}`. */
interface Answer {
  readonly id?: number;
  readonly ready?: true;
  readonly error?: unknown;
  readonly held?: number;
}

/** The number of operations, and how many of them are in flight. */
export interface Load {
  readonly count: number;
  readonly in_flight: number;
}

/**
 * A process with a client library: the driver of its conformance cases, which also has commands for the benchmarks. It
 * ends with its input, so it ends with this process.
 */
export class ClientDriver {
  private readonly child: ChildProcess;
  private readonly pending = new Map<number, PromiseWithResolvers>();
  private lastId = 0;

  private constructor(command: readonly string[]) {
    const [file = '', ...args] = command;
    // The log of a client is no part of the result.
    this.child = spawn(file, args, { cwd: ROOT, stdio: ['pipe', 'pipe', 'ignore'] });
    this.child.on('error', (error) => this.failAll(error));
    this.child.on('exit', (code, signal) =>
      this.failAll(new Error(`the driver ${command.join(' ')} ended: ${signal ?? code}`)),
    );
    this.child.stdin?.on('error', () => undefined); // The event 'exit' follows.
    if (this.child.stdout === null) throw new Error('a driver without output');
    const lines = createInterface({ input: this.child.stdout });
    lines.on('line', (line) => this.receive(JSON.parse(line) as Answer));
  }

  /** Starts a driver, and connects its client `c` to the server. */
  static async start(command: readonly string[], address: string): Promise<ClientDriver> {
    const driver = new ClientDriver(command);
    await driver.run('connect', { client: 'c', addresses: [address] });
    return driver;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Acquires and releases locks with the client. */
  async pairs(name: string, load: Load): Promise<void> {
    await this.run('bench_pairs', { client: 'c', name, ...load });
  }

  /** The same with the bare generated stub of the language. */
  async stubPairs(name: string, load: Load, address: string): Promise<void> {
    await this.run('bench_stub_pairs', { addresses: [address], name, ...load });
  }

  /** Acquires locks, and keeps their leases until the end of the process. */
  async hold(name: string, load: Load): Promise<void> {
    await this.run('bench_hold', { client: 'c', name, ...load });
  }

  /** Collects garbage, where the language has a collector. Resolves to the number of the valid leases. */
  async settle(): Promise<number> {
    return (await this.run('bench_settle', {})).held ?? NaN;
  }

  end(): void {
    this.child.removeAllListeners('exit');
    this.child.kill('SIGKILL');
  }

  private run(verb: string, fields: object): Promise<Answer> {
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
      this.child.stdin?.write(`${JSON.stringify({ id, do: verb, ...fields })}\n`);
    });
  }

  private receive(answer: Answer): void {
    if (answer.id === undefined) return; // `ready`, or an event.
    const pending = this.pending.get(answer.id);
    this.pending.delete(answer.id);
    if (answer.error === undefined) pending?.resolve(answer);
    else pending?.reject(new Error(`the driver failed: ${JSON.stringify(answer.error)}`));
  }

  private failAll(error: Error): void {
    for (const { reject } of this.pending.values()) reject(error);
    this.pending.clear();
  }
}

interface PromiseWithResolvers {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}
