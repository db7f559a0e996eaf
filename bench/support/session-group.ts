import type { SessionTasks, SessionWork } from '../load/session';
import { LoadGroup } from './load-process';
import type { Stage } from './stage';

export const PROCESSES = 2;
/** The commands in flight of all processes. */
export const IN_FLIGHT = 128;

export type SessionGroup = LoadGroup<SessionTasks>;

/** Processes with sessions. The sessions are shared out evenly. */
export async function withSessions<T>(
  stage: Stage,
  count: number,
  work: (group: SessionGroup) => Promise<T>,
): Promise<T> {
  const group: SessionGroup = new LoadGroup('session', PROCESSES);
  try {
    const address = stage.server.listen;
    const each = count / PROCESSES;
    await group.askEach('connect', (index) => ({ address, label: `session-${index}`, count: each }));
    return await work(group);
  } finally {
    group.end();
  }
}

export async function run(group: SessionGroup, kind: SessionWork, count: number): Promise<number> {
  await group.ask('work', { kind, count: count / PROCESSES, inFlight: IN_FLIGHT / PROCESSES });
  return count;
}
