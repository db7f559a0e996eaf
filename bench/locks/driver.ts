import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Program } from '../../test/support/toolchains';

/** The holder's write to what its lock protects. */
export interface Write {
  readonly lock: number;
  /** Whether the holder's library says that the lock is still held. */
  readonly isHeld: boolean;
  /** The fencing token. Undefined for a system without tokens. */
  readonly token?: bigint;
}

/** The begin of the wait, the grant, and the time just before the release, on the machine's monotonic clock (ms). */
export interface Grant {
  readonly askedAt: number;
  readonly grantedAt: number;
  readonly releasedAt: number;
}

export interface Contest {
  readonly name: string;
  readonly waiters: number;
  readonly forMs: number;
  readonly holdMs: number;
}

/**
 * A process that makes load on the locks of one system. All drivers have the same arguments and lines, so that their
 * languages can differ:
 *
 *     driver SYSTEM ADDRESS TTL_MS        prints: ready PID VERSION
 *     alone CLIENTS MS                    prints: done, and the time of each acquire (ms)
 *     contend NAME WAITERS MS HOLD_MS     prints: done, and ASKED,GRANTED,RELEASED of each grant (ms)
 *     hold NAME COUNT                     prints for each held lock every 5 ms: write LOCK IS_HELD TOKEN
 *
 * `contend` keeps the number of waiters: a new waiter starts to wait before a holder releases. After its time, the
 * waiters that are left take their turns and release immediately. A driver ends with its input.
 */
export class Driver {
  private waiting: { resolve: (words: string[]) => void; reject: (error: Error) => void } | undefined;
  private onWrite: (write: Write) => void = () => undefined;
  private told = { pid: 0, version: '' };

  private constructor(private readonly child: ChildProcess) {}

  static async start(program: Program, args: readonly string[]): Promise<Driver> {
    const [command, ...before] = program.command;
    const child = spawn(command, [...before, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
    const driver = new Driver(child);
    const ended = (why: unknown) => driver.waiting?.reject(new Error(`${args[0]} has ended: ${String(why)}`));
    child.on('error', ended);
    child.on('exit', (code, signal) => ended(signal ?? code));
    createInterface({ input: child.stdout }).on('line', (line) => driver.hear(line.split(' ')));
    const [pid, version = ''] = await driver.answer();
    driver.told = { pid: Number(pid), version };
    return driver;
  }

  /** A launcher may start the program in another process, so the program tells its number. */
  get pid(): number {
    return this.told.pid;
  }

  get version(): string {
    return this.told.version;
  }

  /** Acquires and releases. Each client has 100 locks of its own, which take turns. Resolves to the time of each acquire (ms). */
  async alone(clients: number, forMs: number): Promise<number[]> {
    return (await this.ask(`alone ${clients} ${forMs}`)).map(Number);
  }

  async contend({ name, waiters, forMs, holdMs }: Contest): Promise<Grant[]> {
    const words = await this.ask(`contend ${name} ${waiters} ${forMs} ${holdMs}`);
    return words.map((word) => {
      const [askedAt = NaN, grantedAt = NaN, releasedAt = NaN] = word.split(',').map(Number);
      return { askedAt, grantedAt, releasedAt };
    });
  }

  /** Acquires and holds locks until the end of the process. */
  hold(name: string, locks: number, onWrite: (write: Write) => void): void {
    this.onWrite = onWrite;
    this.child.stdin?.write(`hold ${name} ${locks}\n`);
  }

  signal(signal: NodeJS.Signals): void {
    process.kill(this.pid, signal);
  }

  async end(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.signal('SIGKILL');
    await exited;
  }

  private ask(line: string): Promise<string[]> {
    this.child.stdin?.write(`${line}\n`);
    return this.answer();
  }

  private answer(): Promise<string[]> {
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
    });
  }

  private hear([kind, ...words]: string[]): void {
    if (kind !== 'write') return this.waiting?.resolve(words.filter((word) => word !== ''));
    const [lock, isHeld, token] = words;
    this.onWrite({
      lock: Number(lock),
      isHeld: isHeld === 'true',
      ...(token !== undefined && token !== '-' && { token: BigInt(token) }),
    });
  }
}
