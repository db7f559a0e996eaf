import { HoldfastError } from '../base/errors';
import { timeSpan } from '../base/time-span';

/** The errors that only sessions have. */

export function sessionSilent(timeoutMs: number): HoldfastError {
  return new HoldfastError(
    'SESSION_SILENT',
    `no heartbeat has arrived for ${timeSpan(timeoutMs)}, or the client does not read; open the next session and attach to the leases, which continue to the ends of their ttl`,
  );
}

export function tooManyUnfinished(limit: number): HoldfastError {
  return quotaExceeded(
    limit,
    `this session has ${limit} commands without an end, the limit: nothing was done; cancel commands, or wait for their ends`,
  );
}

export function tooManyLeases(limit: number): HoldfastError {
  return quotaExceeded(
    limit,
    `this session has ${limit} leases, the limit: nothing was done; release leases, or open a second session with another client_id`,
  );
}

export function tooManySessions(limit: number): HoldfastError {
  return quotaExceeded(
    limit,
    `this server has ${limit} sessions, the limit: nothing was done; try another server, or put the leases of a process into one session`,
  );
}

export function tooManyCommands(limit: number): HoldfastError {
  return quotaExceeded(
    limit,
    `a message of a session has more than ${limit} commands, the limit; open the next session, and send several messages`,
  );
}

export function tooManyRefusals(): HoldfastError {
  return new HoldfastError(
    'QUOTA_EXCEEDED',
    'the client has left a thousand refusals of this session unread; open the next session, and read its messages',
  );
}

export function notInSession(leaseNumber: number): HoldfastError {
  return new HoldfastError(
    'LEASE_NOT_HELD',
    `lease_number ${leaseNumber} names no lease of this session; use the lease_id`,
  );
}

export function sessionDraining(): HoldfastError {
  return new HoldfastError(
    'DRAINING',
    'this server is stopping; open the next session at another server, and attach to the leases',
    { retryAfterMs: 0 },
  );
}

export function sessionTooOld(): HoldfastError {
  return new HoldfastError(
    'REATTACH',
    'the connection of this session has reached its maximum age; open the next session on a new connection, and attach to the leases',
  );
}

function quotaExceeded(limit: number, message: string): HoldfastError {
  return new HoldfastError('QUOTA_EXCEEDED', message, { metadata: { limit: String(limit) } });
}
