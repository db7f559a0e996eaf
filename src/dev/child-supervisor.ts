import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

/** The messages between a parent and its supervisor process. */

/** The first message to the supervisor. */
export interface SupervisorSetup {
  readonly kind: 'setup';
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env: NodeJS.ProcessEnv;
  /** The file for the child's output. Undefined: the parent reads the output from the supervisor's pipes. */
  readonly logFile?: string;
  /** The time between SIGTERM and SIGKILL for the child (ms). 0: the supervisor sends SIGKILL immediately. */
  readonly graceMs: number;
  /** A folder that the supervisor removes after the child has ended. */
  readonly removeAtEnd?: string;
  /** A Unix socket to which the supervisor connects. The supervisor ends the child when this connection closes. */
  readonly lifeline?: string;
}

export type ToSupervisor = SupervisorSetup | { readonly kind: 'start' } | { readonly kind: 'end' };

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The end of the child's output, even if the log file could not be written. Undefined without a log file. */
  readonly lastOutput?: string;
}

export type FromSupervisor =
  | { readonly kind: 'started'; readonly pid: number }
  | { readonly kind: 'failed'; readonly message: string }
  | ({ readonly kind: 'exited'; readonly pid: number } & ChildExit);

export interface ChildSupervisorOptions extends Omit<SupervisorSetup, 'kind'> {
  /** Called each time the child has ended. */
  readonly onExit?: (exit: ChildExit) => void;
  /** Called with the output pipes of each supervisor process. Without `logFile` they carry the child's output. */
  readonly onOutput?: (stdout: Readable, stderr: Readable) => void;
}

/** The path of the built supervisor program. Tests run this file from its source, but the supervisor must be built. */
function supervisorProgram(): string {
  const folder = __filename.endsWith('.ts') ? join(__dirname, '..', '..', 'dist', 'src', 'dev') : __dirname;
  const program = join(folder, 'child-supervisor-main.js');
  if (!existsSync(program)) throw new Error(`${program} is missing: run "npm run build"`);
  return program;
}

/**
 * Runs a child process in its own terminal session, so Ctrl-C does not reach the child. A small supervisor process
 * (child-supervisor-main.ts) ends the child when this process ends, even by SIGKILL. `start` may be called again after
 * the child has ended. A running child does not keep this process alive.
 */
export class ChildSupervisor {
  private supervisor: ChildProcess | undefined;
  private childPid: number | undefined;
  private ending = false;
  private starting: { resolve: (pid: number) => void; reject: (error: Error) => void } | undefined;

  constructor(private readonly options: ChildSupervisorOptions) {}

  /** The child's process id. Undefined: the child does not run. */
  get pid(): number | undefined {
    return this.childPid;
  }

  /** Starts the child and resolves to its process id. Rejects if the program cannot be run. */
  async start(): Promise<number> {
    if (this.childPid !== undefined) return this.childPid;
    const supervisor = this.supervisor ?? this.forkSupervisor();
    supervisor.ref();
    supervisor.channel?.ref();
    try {
      return await new Promise<number>((resolve, reject) => {
        this.starting = { resolve, reject };
        this.send({ kind: 'start' });
      });
    } finally {
      this.starting = undefined;
      supervisor.unref();
      supervisor.channel?.unref();
    }
  }

  /** Sends the child a signal. Returns false if the child does not run. */
  signal(signal: NodeJS.Signals): boolean {
    if (this.childPid === undefined) return false;
    try {
      return process.kill(this.childPid, signal);
    } catch {
      return false;
    }
  }

  /** Ends the child with SIGTERM, then with SIGKILL after `graceMs`. Then ends the supervisor process. */
  async end(): Promise<void> {
    const { supervisor } = this;
    if (!supervisor) return;
    this.ending = true;
    const exited = once(supervisor, 'exit');
    supervisor.ref();
    this.send({ kind: 'end' });
    await exited;
    this.ending = false;
  }

  private forkSupervisor(): ChildProcess {
    const output = this.options.logFile === undefined ? 'pipe' : 'ignore';
    const supervisor = fork(supervisorProgram(), [], {
      detached: true,
      // The empty list replaces the inherited arguments, which may contain a debugger's port or a test runner's flags.
      execArgv: [],
      stdio: ['ignore', output, output, 'ipc'],
    });
    this.supervisor = supervisor;
    supervisor.on('message', (message: FromSupervisor) => this.onMessage(message));
    supervisor.on('error', (error) => this.starting?.reject(error));
    supervisor.on('exit', () => this.onSupervisorExit());
    for (const pipe of [supervisor.stdout, supervisor.stderr]) if (pipe instanceof Socket) pipe.unref();
    if (supervisor.stdout && supervisor.stderr) {
      this.options.onOutput?.(supervisor.stdout, supervisor.stderr);
    }
    const { onExit: _onExit, onOutput: _onOutput, ...setup } = this.options;
    this.send({ kind: 'setup', ...setup });
    return supervisor;
  }

  private send(message: ToSupervisor): void {
    // The callback ignores the error of a supervisor that has just ended. The 'exit' event handles this case.
    this.supervisor?.send(message, () => undefined);
  }

  private onMessage(message: FromSupervisor): void {
    if (message.kind === 'started') {
      this.childPid = message.pid;
      this.starting?.resolve(message.pid);
    } else if (message.kind === 'failed') {
      this.starting?.reject(new Error(`${this.options.command}: ${message.message}`));
    } else {
      const { kind: _kind, pid: _pid, ...exit } = message;
      this.onChildExit(exit);
    }
  }

  /** Kills the child if its supervisor was killed, because the child could then outlive this process. */
  private onSupervisorExit(): void {
    this.supervisor = undefined;
    this.starting?.reject(new Error(`the supervisor process of ${this.options.command} has ended`));
    if (this.childPid === undefined) return;
    if (!this.ending) this.signal('SIGKILL');
    this.onChildExit({ code: null, signal: 'SIGKILL' });
  }

  private onChildExit(exit: ChildExit): void {
    if (this.childPid === undefined) return;
    this.childPid = undefined;
    this.options.onExit?.(exit);
  }
}
