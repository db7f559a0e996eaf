/**
 * The launcher: the leader of the process group of the command, and a child of the watchdog. The command starts in the group
 * of the launcher, so `holdfast` and the watchdog know the group before the command runs: a process that is stopped or
 * killed during the start hides no command.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { ProcessGroup } from './process-group';
import type { FromLauncher, LaunchMessage } from './protocol';

/** The signals that the group gets for the command. The launcher lives until the command has ended. */
const GROUP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const;

function launch({ command, args, env }: LaunchMessage): void {
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

/** The launcher ends at once: the group is then alive only if the command has left processes behind. */
function tellLast(message: FromLauncher): void {
  tell(message, (error) => (error ? killGroup() : process.exit()));
}

function tell(message: FromLauncher, then: (error: Error | null) => void = () => undefined): void {
  // Without a watchdog the 'disconnect' event kills the group.
  if (process.connected) process.send?.(message, undefined, undefined, then);
}

/** Kills the command and the launcher. */
function killGroup(): void {
  new ProcessGroup(process.pid).signal('SIGKILL');
}

for (const signal of GROUP_SIGNALS) process.on(signal, () => undefined);
process.on('message', launch);
// The watchdog was killed. `holdfast` may have been killed too, so nobody else may be left who ends the command.
process.on('disconnect', killGroup);
tell({ kind: 'ready' });
