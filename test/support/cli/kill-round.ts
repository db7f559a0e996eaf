import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Holdfast, Lease } from '../../../clients/typescript';
import { eventually } from '../eventually';
import { TcpProxy } from '../proxy/tcp-proxy';
import {
  type CliExit,
  CliProcess,
  isRunning,
  launcherOf,
  type ProcessState,
  watchdogOf,
} from './cli-process';

interface LateWrites {
  /** Writes with the old token after the grant of a newer one. */
  readonly lateWrites: number;
  readonly writes: number;
  /** Writers that still ran at the moment of the next grant. */
  readonly survivors: readonly number[];
  /** The time from the last write to the next grant. */
  readonly gapMs: number;
}

/**
 * The store that the lock protects: a file to which the commands append. The kernel puts appends in order at once, so no
 * buffer between a command and the store can hide a late write, or make an early one late.
 */
class ProtectedStore {
  private survivors: number[] = [];

  constructor(readonly file: string) {
    writeFileSync(file, '');
  }

  /** The ids of the processes that have written. */
  get writers(): number[] {
    return [...new Set(this.lines('write').map(([, , pid]) => Number(pid)))];
  }

  /** Call at once when the next holder is granted. */
  granted(token: bigint): void {
    appendFileSync(this.file, `grant ${token} 0 ${process.hrtime.bigint()}\n`);
    this.survivors = this.writers.filter(isRunning);
  }

  count(): LateWrites {
    let highest = 0n;
    let lateWrites = 0;
    const writes = this.lines('write');
    const last = (lines: string[][]) => Number(lines.at(-1)?.[3] ?? NaN);
    const gapMs = (last(this.lines('grant')) - last(writes)) / 1e6;
    for (const [kind, token = '0'] of this.lines()) {
      if (kind === 'grant') highest = BigInt(token);
      else if (BigInt(token) < highest) lateWrites += 1;
    }
    return { lateWrites, writes: writes.length, survivors: this.survivors, gapMs };
  }

  private lines(kind = ''): string[][] {
    const lines = readFileSync(this.file, 'utf8').trimEnd().split('\n');
    return lines.filter((line) => line.startsWith(kind) && line !== '').map((line) => line.split(' '));
  }
}

const WRITER = join(__dirname, 'writer.cjs');
const STOP_AT_START = join(__dirname, 'stop-at-start.cjs');
/** Short, so that rounds are short. */
export const TTL_MS = 2500;

/** A command of `holdfast` that runs a writer, and how the next holder waits. */
export interface RunKind {
  readonly words: readonly string[];
  next(hf: Holdfast, name: string): Promise<Lease>;
}

const NEXT = { ttl: '10s', wait: '60s' } as const;

export const RUN_KINDS = {
  lock: { words: ['lock', 'run'], next: (hf, name) => hf.lock(name, NEXT) },
  semaphore: {
    words: ['semaphore', 'run', '--limit', '1'],
    next: (hf, name) => hf.permits(name, { ...NEXT, limit: 1 }),
  },
  election: { words: ['elect'], next: (hf, name) => hf.election(name).campaign('next', NEXT) },
} as const satisfies Record<string, RunKind>;

export interface KillRoundOptions {
  readonly name: string;
  readonly folder: string;
  /** The port of the server that `holdfast` uses. */
  readonly port: number;
  /** Modes of writer.cjs. */
  readonly modes: readonly string[];
  readonly run: RunKind;
  /** The process that starts the command stops itself right after the start: see stop-at-start.cjs. */
  readonly isStoppedAtStart: boolean;
  /** The command is `timeout`, which makes a process group of its own for itself and the writer. */
  readonly isUnderTimeout: boolean;
  /** The client of the next holder, over a server that stays. */
  readonly next: Holdfast;
}

export interface RoundResult extends LateWrites {
  readonly name: string;
  readonly exit: CliExit;
  readonly stderr: string;
}

/** One `holdfast lock run` of a writer, or another run kind, behind a proxy, and the next holder, who waits. */
export class KillRound {
  readonly store: ProtectedStore;
  private next: Promise<unknown> = Promise.resolve();
  private watchdog: ProcessState | undefined;
  private launcher: ProcessState | undefined;

  private constructor(
    private readonly options: KillRoundOptions,
    readonly proxy: TcpProxy,
    readonly cli: CliProcess,
    file: string,
  ) {
    this.store = new ProtectedStore(file);
  }

  static async start(options: KillRoundOptions): Promise<KillRound> {
    const { name, folder, port, modes, run, isStoppedAtStart, isUnderTimeout } = options;
    const proxy = await TcpProxy.open({ targetPort: port, protocol: 'tcp' });
    const file = join(folder, name);
    const timeout = isUnderTimeout ? ['timeout', '600'] : [];
    const writer = [...timeout, process.execPath, WRITER, file, ...modes];
    const args = [...run.words, name, '--ttl', `${TTL_MS}ms`, '-a', proxy.address, '--', ...writer];
    const env = isStoppedAtStart ? { NODE_OPTIONS: `--require ${STOP_AT_START}` } : {};
    return new KillRound(options, proxy, new CliProcess(args, { env }), file);
  }

  /**
   * Waits until all processes write, and puts the next holder into the queue. Resolves with false if the lease was lost
   * before, as happens on a very busy machine: then the round proves nothing.
   */
  async writing(): Promise<boolean> {
    const { modes, name, run, next } = this.options;
    const wanted = modes.includes('family') ? 3 : 1;
    const isDecided = () => this.cli.exit !== undefined || this.store.writers.length === wanted;
    await eventually(`the writers of ${name}`, isDecided, { timeoutMs: 60_000 });
    if (this.cli.exit !== undefined) return false;
    this.watchdog = watchdogOf(this.cli.pid);
    this.launcher = this.watchdog && launcherOf(this.watchdog.pid);
    this.next = run.next(next, name).then((lease) => {
      this.store.granted(lease.token);
      return lease.release();
    });
    // `result` reports the error.
    this.next.catch(() => undefined);
    return true;
  }

  /** Holds all bytes, also of new connections, as a network does that has lost its link. */
  cutNetwork(): void {
    this.proxy.blackHole('both');
  }

  killWatchdog(signal: NodeJS.Signals): void {
    if (this.watchdog && isRunning(this.watchdog.pid)) process.kill(this.watchdog.pid, signal);
  }

  killLauncher(signal: NodeJS.Signals): void {
    if (this.launcher && isRunning(this.launcher.pid)) process.kill(this.launcher.pid, signal);
  }

  /** Waits for the grant to the next holder and for the end of `holdfast`. */
  async result(): Promise<RoundResult> {
    await this.next;
    const counted = this.store.count();
    for (const pid of counted.survivors) process.kill(pid, 'SIGKILL');
    // A stopped `holdfast` tells the end of its command only after it continues. A busy machine stops a process some time
    // after SIGSTOP, so the state of the process does not say whether a stop is on its way.
    if (this.cli.exit === undefined) this.cli.signal('SIGCONT');
    const exit = await this.cli.ended();
    return { name: this.options.name, ...counted, exit, stderr: this.cli.stderr };
  }

  /** Ends everything of the round, whatever has happened. */
  async close(): Promise<void> {
    for (const pid of this.store.writers.filter(isRunning)) process.kill(pid, 'SIGKILL');
    // A stopped watchdog or launcher keeps the output of `holdfast` open.
    this.killWatchdog('SIGKILL');
    this.killLauncher('SIGKILL');
    if (this.cli.exit === undefined) this.cli.signal('SIGCONT');
    await this.cli.close();
    await this.proxy.close();
  }
}
