import type { ScenarioParts } from './client-process';
import type { SessionClient } from './session-client';
import type { CommandRecord } from './session-record';

/** The longest time from the last end of a lease to the event: a slot of the timers, and the journey of a command. */
const LATE_MS = 50;

/** Checks the leases of the sessions that read and are read. */
export function checkOpenLeases(
  sessions: readonly SessionClient[],
  { world, violations }: ScenarioParts,
): void {
  const owners = new Map<string, CommandRecord>();
  for (const session of sessions.filter(({ isFlowing }) => isFlowing)) {
    for (const command of session.held) {
      const { belief, request } = command;
      if (belief && belief.until + LATE_MS < world.clock.now()) {
        command.report('was not told of the end of its lease');
      }
      const key = `${session.server.id} ${request?.fields.requestId}`;
      const other = owners.get(key);
      if (other) {
        violations.push(
          `sessions ${other.session.name} and ${session.name} of ${session.server.id} both hold ${request?.fields.requestId}`,
        );
      }
      owners.set(key, command);
    }
  }
}
