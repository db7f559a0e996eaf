import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { ProcessSession } from './process-session';
import type { CommandEnd, FromLauncher, LaunchMessage, NotStarted } from './protocol';

/** How a launcher has ended that could not tell the end of the command. */
const KILLED: CommandEnd = { kind: 'exited', code: null, signal: 'SIGKILL' };

/** The session of the command, in the watchdog. The session exists before the command, because of the launcher. */
export class CommandSession {
  private readonly session: ProcessSession;
  /** Signals for a command that has not started yet. Undefined: the command has started. */
  private waiting: NodeJS.Signals[] | undefined = [];
  private end: CommandEnd | NotStarted | undefined;

  private constructor(
    private readonly launcher: ChildProcess,
    id: number,
    onReady: (id: number) => void,
    onEnd: (end: CommandEnd | NotStarted) => void,
  ) {
    this.session = new ProcessSession(id);
    launcher.on('message', (message: FromLauncher) => {
      if (message.kind === 'ready') onReady(id);
      else if (message.kind === 'started') this.sendWaiting();
      else this.end = message;
    });
    const isGone = new Promise<void>((resolve) => launcher.on('exit', () => resolve()));
    // The event comes after the last message.
    const isRead = new Promise<void>((resolve) => launcher.on('disconnect', resolve));
    // The launcher is a process of the session, so the session can be empty only after the launcher is gone.
    void Promise.all([isGone, isRead]).then(() => onEnd(this.end ?? KILLED));
  }

  /**
   * Starts the launcher, before there is a command. `onReady` is called when a command can start at once, and `onEnd` when
   * the command has ended or cannot start. Processes that the command has left may still be in the session.
   */
  static create(
    onReady: (id: number) => void,
    onEnd: (end: CommandEnd | NotStarted) => void,
  ): CommandSession | undefined {
    // A session of its own: signals reach all processes of the command, and only them.
    const launcher = spawn(process.execPath, [join(__dirname, 'launcher.js')], {
      detached: true,
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    });
    launcher.on('error', (error: NodeJS.ErrnoException) => {
      if (launcher.pid === undefined)
        onEnd({ kind: 'failed', code: error.code ?? '', message: error.message });
    });
    return launcher.pid === undefined
      ? undefined
      : new CommandSession(launcher, launcher.pid, onReady, onEnd);
  }

  launch({ command, args, env, latestStart }: LaunchMessage): void {
    // The error of a launcher that was killed is ignored: its 'disconnect' event is handled.
    if (this.launcher.connected) this.launcher.send({ command, args, env, latestStart }, () => undefined);
  }

  get isAlive(): boolean {
    return this.session.isAlive;
  }

  /** Signals the command. A signal that comes before the start of the command waits for the start. */
  signal(signal: NodeJS.Signals): void {
    if (this.waiting === undefined) this.session.signal(signal);
    else this.waiting.push(signal);
  }

  terminate(): void {
    this.signal('SIGTERM');
    // A stopped process handles SIGTERM only after SIGCONT. The launcher may be stopped before the start of the command.
    this.session.signal('SIGCONT');
  }

  kill(): void {
    this.session.signal('SIGKILL');
  }

  private sendWaiting(): void {
    const signals = this.waiting ?? [];
    this.waiting = undefined;
    for (const signal of signals) this.session.signal(signal);
  }
}
