import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { uptime } from 'node:os';

/** A process of a session. */
export interface Member {
  readonly pid: number;
  readonly group: number;
  readonly isZombie: boolean;
}

/** The processes of a session. Undefined without /proc, as on macOS, and if /proc belongs to other processes. */
function sessionMembers(session: number): Member[] | undefined {
  let names;
  try {
    names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return undefined;
  }
  if (!names.includes(String(process.pid))) return undefined;
  return names.flatMap((name) => {
    const fields = statFields(name);
    if (Number(fields[SESSION]) !== session) return [];
    return { pid: Number(name), group: Number(fields[GROUP]), isZombie: isZombie(fields) };
  });
}

/** The positions in the fields of `statFields`. */
const [STATE, GROUP, SESSION, THREAD_COUNT] = [0, 2, 3, 17];

/** /proc also shows a process as a zombie if only its first thread has ended. Its other threads may work. */
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

/** The resolution of `os.uptime` on Linux. */
const RESOLUTION_MS = 10;
/** Without the file, `os.uptime` has a resolution of one second. */
const HAS_UPTIME = existsSync('/proc/uptime');

/**
 * A monotonic clock that all processes of this machine share (ms). On Linux the clock counts the time while the machine
 * was suspended, as the deadline of a lease does. Two readings may differ by RESOLUTION_MS.
 */
export function sharedNow(): number {
  return HAS_UPTIME ? uptime() * 1000 : Number(process.hrtime.bigint()) / 1e6;
}

/** The longest sleep (ms): a timer does not count the time while the machine was suspended, the shared clock does. */
export const LONGEST_SLEEP_MS = 1000;

/** The time of the shared clock after `remaining` milliseconds, or up to two resolutions earlier, never later. */
export function sharedDeadline(remaining: () => number): number {
  const before = sharedNow();
  return before + remaining() - 2 * RESOLUTION_MS;
}

/** The time since the deadline (ms). 0: the deadline has not passed. */
export function lateMs(deadline: number): number {
  return Math.max(0, Math.round(sharedNow() - deadline));
}

/** Says how a command has ended, and whether in time. */
export function endText(wasStopped: boolean, late: number): string {
  const end = wasStopped ? 'the command was ended' : 'the command has ended';
  if (late === 0) return wasStopped ? `${end} before the deadline` : `${end} by itself`;
  return `${end} ${late} ms after the deadline, so another holder may have worked at the same time`;
}
