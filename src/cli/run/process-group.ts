import { readdirSync, readFileSync } from 'node:fs';

/**
 * A process group. The number of a group stays reserved while the group has a process. After `isAlive` was false, another
 * program may get the number, so the group sends no signal any more.
 */
export class ProcessGroup {
  private isGone = false;

  constructor(readonly id: number) {}

  /** Without effect if the group has ended. */
  signal(signal: NodeJS.Signals): void {
    if (this.isGone) return;
    try {
      process.kill(-this.id, signal);
    } catch (error) {
      // EPERM: a process has changed its user. Nothing else can be done for that process.
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') this.isGone = true;
    }
  }

  /** A zombie counts as ended: a first process of a container that collects no zombies must not delay a release. */
  get isAlive(): boolean {
    if (this.isGone) return false;
    try {
      process.kill(-this.id, 0);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EPERM') return true;
      this.isGone = true;
      return false;
    }
    this.isGone = process.platform === 'linux' && !hasRunningProcess(this.id);
    return !this.isGone;
  }
}

function hasRunningProcess(group: number): boolean {
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const [state, , processGroup] = statFields(name);
    if (Number(processGroup) === group && state !== 'Z' && state !== 'X') return true;
  }
  return false;
}

/** The fields of /proc/PID/stat after the program name, which may have spaces and parentheses: state, parent, group. */
function statFields(pid: string): readonly string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    // The process has just ended.
    return [];
  }
}
