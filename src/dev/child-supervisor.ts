import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { ChildExit, FromSupervisor, SupervisorSetup, ToSupervisor } from './child-supervisor-protocol';

export type { ChildExit } from './child-supervisor-protocol';

export interface ChildSupervisorOptions extends Omit<SupervisorSetup, 'kind'> {
  /** Called each time the child has ended, for whatever reason. */
  readonly onExit?: (exit: ChildExit) => void;
  /** Called with each supervisor process's output: the child's, where there is no `logFile`. */
  readonly onOutput?: (stdout: Readable, stderr: Readable) => void;
}

/** The supervisor runs as built code also where this file is run from its source, as tests do. */
function supervisorProgram(): string {
  const folder = __filename.endsWith('.ts') ? join(__dirname, '..', '..', 'dist', 'src', 'dev') : __dirname;
  const program = join(folder, 'child-supervisor-main.js');
  if (!existsSync(program)) throw new Error(`${program} is missing: run "npm run build"`);
  return program;
}

/**
 * A child process that ends when this process ends, by SIGKILL too, and that no Ctrl-C in the terminal reaches:
 * a second small process stands between (child-supervisor-main.ts). The child may be started again after it has ended.
 * Nothing here keeps this process running.
 */
export class ChildSupervisor {
  private keeper: ChildProcess | undefined;
  private childPid: number | undefined;
  private ending = false;
  private starting: { resolve: (pid: number) => void; reject: (error: Error) => void } | undefined;

  constructor(private readonly options: ChildSupervisorOptions) {}

  /** The child's process id while it runs. */
  get pid(): number | undefined {
    return this.childPid;
  }

  /** Starts the child; rejects when it cannot be run at all. */
  async start(): Promise<number> {
    if (this.childPid !== undefined) return this.childPid;
    const keeper = this.keeper ?? this.openKeeper();
    keeper.ref();
    keeper.channel?.ref();
    try {
      return await new Promise<number>((resolve, reject) => {
        this.starting = { resolve, reject };
        this.tell({ kind: 'start' });
      });
    } finally {
      this.starting = undefined;
      keeper.unref();
      keeper.channel?.unref();
    }
  }

  /** Sends the child a signal; false when it does not run. */
  signal(signal: NodeJS.Signals): boolean {
    if (this.childPid === undefined) return false;
    try {
      return process.kill(this.childPid, signal);
    } catch {
      return false;
    }
  }

  /** Ends the child, by SIGTERM and after the grace by SIGKILL, and then the supervisor itself. */
  async end(): Promise<void> {
    const keeper = this.keeper;
    if (!keeper) return;
    this.ending = true;
    const gone = once(keeper, 'exit');
    keeper.ref();
    this.tell({ kind: 'end' });
    await gone;
    this.ending = false;
  }

  private openKeeper(): ChildProcess {
    const output = this.options.logFile === undefined ? 'pipe' : 'ignore';
    const keeper = fork(supervisorProgram(), [], {
      detached: true,
      // A debugger's port, or a test runner's flags, are this process's alone.
      execArgv: [],
      stdio: ['ignore', output, output, 'ipc'],
    });
    this.keeper = keeper;
    keeper.on('message', (message: FromSupervisor) => this.hear(message));
    keeper.on('error', (error) => this.starting?.reject(error));
    keeper.on('exit', () => this.keeperGone());
    for (const pipe of [keeper.stdout, keeper.stderr]) if (pipe instanceof Socket) pipe.unref();
    if (keeper.stdout && keeper.stderr) this.options.onOutput?.(keeper.stdout, keeper.stderr);
    const { onExit: _onExit, onOutput: _onOutput, ...setup } = this.options;
    this.tell({ kind: 'setup', ...setup });
    return keeper;
  }

  private tell(message: ToSupervisor): void {
    // The callback takes the error of a supervisor that has just gone: 'exit' deals with that.
    this.keeper?.send(message, () => undefined);
  }

  private hear(message: FromSupervisor): void {
    if (message.kind === 'started') {
      this.childPid = message.pid;
      this.starting?.resolve(message.pid);
    } else if (message.kind === 'failed') {
      this.starting?.reject(new Error(`${this.options.command}: ${message.message}`));
    } else {
      this.childEnded({ code: message.code, signal: message.signal });
    }
  }

  /** A supervisor that somebody killed leaves its child unguarded, so the child must not outlive it. */
  private keeperGone(): void {
    this.keeper = undefined;
    this.starting?.reject(new Error(`the supervisor of ${this.options.command} has ended`));
    if (this.childPid === undefined) return;
    if (!this.ending) this.signal('SIGKILL');
    this.childEnded({ code: null, signal: 'SIGKILL' });
  }

  private childEnded(exit: ChildExit): void {
    if (this.childPid === undefined) return;
    this.childPid = undefined;
    this.options.onExit?.(exit);
  }
}
