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
    this.isGone = hasOnlyZombies(this.id);
    return !this.isGone;
  }
}

/** False without /proc, as on macOS: then only the kernel's answer counts. */
function hasOnlyZombies(group: number): boolean {
  let names;
  try {
    names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return false;
  }
  // This process is in /proc, unless /proc belongs to other processes.
  if (!names.includes(String(process.pid))) return false;
  const members = names.map(statFields).filter((fields) => Number(fields[GROUP]) === group);
  // A member that nobody may see, with the mount option hidepid, is alive.
  return members.length > 0 && members.every(isZombie);
}

/** The positions in the fields of `statFields`. */
const [STATE, GROUP, THREAD_COUNT] = [0, 2, 17];

/** A process whose first thread has ended is shown as a zombie too, while its other threads work. */
function isZombie(fields: readonly string[]): boolean {
  const state = fields[STATE];
  return state === 'X' || (state === 'Z' && Number(fields[THREAD_COUNT]) <= 1);
}

/** The fields of /proc/PID/stat after the program name, which may have spaces and parentheses. */
function statFields(pid: string): readonly string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    // The process has just ended.
    return [];
  }
}
