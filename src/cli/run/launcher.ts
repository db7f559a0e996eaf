/**
 * The launcher: the leader of the session of the command, and a child of the watchdog. The command starts in the session of
 * the launcher, so `holdfast` and the watchdog know the session before the command runs: a process that is stopped or killed
 * during the start hides no command.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { ProcessSession, sharedNow } from './processes';
import { TOO_LATE_FAILURE, type FromLauncher, type LaunchMessage } from './protocol';

/**
 * The command signals its group with `kill 0`, and the launcher must live until the command has ended. These are all signals
 * that end a process and that a program can catch, without those of a defect of the program itself (SEGV, BUS, FPE, ILL).
 */
const SURVIVED_SIGNALS = [
  ...['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH', 'SIGALRM', 'SIGVTALRM'],
  ...['SIGPROF', 'SIGIO', 'SIGPWR', 'SIGSTKFLT', 'SIGXCPU', 'SIGXFSZ', 'SIGSYS', 'SIGTRAP', 'SIGABRT'],
];
/** How long the launcher repeats SIGKILL to processes that do not end, for example in a system call that hangs. */
const KILL_MS = 1000;
const RECHECK_MS = 5;

const session = new ProcessSession(process.pid);

function launch({ command, args, env, latestStart }: LaunchMessage): void {
  // The launcher was stopped with the message unread.
  if (sharedNow() >= latestStart) return tellLast(TOO_LATE_FAILURE);
  let child: ChildProcess;
  try {
    child = spawn(command, [...args], { env, stdio: 'inherit' });
  } catch (error) {
    // Some errors are thrown, for example ENOEXEC of a script without "#!", and E2BIG.
    return notStarted(error as NodeJS.ErrnoException);
  }
  child.on('error', (error: NodeJS.ErrnoException) => {
    if (child.pid === undefined) notStarted(error);
  });
  if (child.pid === undefined) return;
  child.on('exit', (code, signal) => tellLast({ kind: 'exited', code, signal }));
  tell({ kind: 'started' });
}

function notStarted({ code = '', message }: NodeJS.ErrnoException): void {
  tellLast({ kind: 'failed', code, message });
}

/** The launcher ends at once: the session is then alive only if the command has left processes behind. */
function tellLast(message: FromLauncher): void {
  tell(message, (error) => (error ? killSession() : process.exit()));
}

function tell(message: FromLauncher, then: (error: Error | null) => void = () => undefined): void {
  // Without a watchdog the 'disconnect' event kills the session.
  if (process.connected) process.send?.(message, undefined, undefined, then);
}

/** Kills the command and the launcher. The launcher is killed last, because nobody else may be left to repeat SIGKILL. */
function killSession(): void {
  const end = performance.now() + KILL_MS;
  // The command must not fork in between, so this thread waits.
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  while (session.killAllBut(process.pid) && performance.now() < end) Atomics.wait(nothing, 0, 0, RECHECK_MS);
  session.signal('SIGKILL');
}

for (const signal of SURVIVED_SIGNALS) process.on(signal, () => undefined);
process.on('message', launch);
// The watchdog was killed. `holdfast` may have been killed too, so nobody else may be left who ends the command.
process.on('disconnect', killSession);
tell({ kind: 'ready' });
