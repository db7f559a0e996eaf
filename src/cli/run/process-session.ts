import { sessionMembers } from './process-table';

/** How often a session that must end is examined, and gets SIGKILL again (ms). */
export const RECHECK_MS = 20;

/** The answer of the kernel about a process or a process group. */
type Answer = 'alive' | 'forbidden' | 'gone';

/**
 * A session: the process group of its leader, and the groups that its processes have made, as `timeout` and a shell with job
 * control do. Without /proc, as on macOS, the session is the group of the leader only. The number of a session stays reserved
 * while the session has a process. After `isAlive` was false, another program may get the number, so the session sends no
 * signal any more.
 */
export class ProcessSession {
  private isGone = false;

  constructor(readonly id: number) {}

  /** Without effect if the session has ended. */
  signal(signal: NodeJS.Signals): void {
    if (this.isGone) return;
    // One system call for the group: no fork can escape.
    const leaders = signalTo(-this.id, signal);
    const members = sessionMembers(this.id) ?? [];
    if (leaders === 'gone' && members.length === 0) this.isGone = true;
    const living = members.filter(({ group, isZombie }) => group !== this.id && !isZombie);
    for (const group of new Set(living.map(({ group }) => group))) signalTo(-group, signal);
  }

  /** For a process of the session: kills the others. Returns whether there were others. */
  killAllBut(own: number): boolean {
    const others = (sessionMembers(this.id) ?? []).filter(({ pid, isZombie }) => pid !== own && !isZombie);
    for (const { pid, group } of others) signalTo(group === this.id ? pid : -group, 'SIGKILL');
    return others.length > 0;
  }

  /** A zombie counts as ended: a first process of a container that collects no zombies must not delay a release. */
  get isAlive(): boolean {
    // /proc is read name by name. The first reading can miss a process that is started while its parent ends.
    if (!this.isGone) this.isGone = !this.hasProcess() && !this.hasProcess();
    return !this.isGone;
  }

  private hasProcess(): boolean {
    const leaders = signalTo(-this.id, 0);
    // A process has changed its user. Nothing else is known about that process.
    if (leaders === 'forbidden') return true;
    const members = sessionMembers(this.id);
    if (members?.some(({ isZombie }) => !isZombie)) return true;
    // A member that nobody may see, with the mount option hidepid, is alive.
    const isSeen = members?.some(({ group }) => group === this.id) ?? false;
    return leaders === 'alive' && !isSeen;
  }
}

function signalTo(target: number, signal: NodeJS.Signals | 0): Answer {
  try {
    process.kill(target, signal);
    return 'alive';
  } catch (error) {
    // EPERM: all processes have changed their user. Nothing else can be done for them.
    return (error as NodeJS.ErrnoException).code === 'ESRCH' ? 'gone' : 'forbidden';
  }
}
