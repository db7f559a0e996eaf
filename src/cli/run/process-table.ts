import { readdirSync, readFileSync } from 'node:fs';

/** A process of a session. */
export interface Member {
  readonly pid: number;
  readonly group: number;
  readonly isZombie: boolean;
}

/** The processes of a session. Undefined without /proc, as on macOS, and if /proc belongs to other processes. */
export function sessionMembers(session: number): Member[] | undefined {
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
