import { format } from 'node:util';
import { setLogger } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import type { StoreHealth } from '../base/store-health';

/** Logs each change of the store's health once: a lost or regained store, a quarantine, new warnings. */
export function logHealth(health: StoreHealth, log: Logger): void {
  let reachable = true;
  let quarantined = false;
  let warnings: readonly string[] = [];
  const logChanges = (): void => {
    if (health.reachable !== reachable) {
      reachable = health.reachable;
      if (reachable) log.info({}, 'the store answers again');
      else log.warn({}, 'the store does not answer: calls fail until the store answers');
    }
    if ((health.quarantine !== undefined) !== quarantined) {
      quarantined = health.quarantine !== undefined;
      logQuarantine(health, log);
    }
    for (const warning of health.warnings) {
      if (!warnings.includes(warning)) log.warn({}, warning);
    }
    warnings = health.warnings;
  };
  health.onChange(logChanges);
  logChanges();
}

function logQuarantine({ quarantine }: StoreHealth, log: Logger): void {
  if (quarantine === undefined) {
    log.info({}, 'the quarantine is over: leases are granted again');
    return;
  }
  const { cause, remainingMs } = quarantine;
  log.warn({ cause, remainingMs: Math.round(remainingMs) }, 'the store is in quarantine: nothing is granted');
}

/** A log with the field `audit`. Audit lines are written at every level of the log except `silent`. */
export function auditLogOf(log: Logger): Logger {
  const level = log.level === 'silent' ? 'silent' : 'info';
  return log.child({ audit: true }, { level });
}

/** Sends the messages of grpc-js to the log at level debug. By default grpc-js writes to the console. */
export function routeGrpcLog(log: Logger): void {
  const write = (...parts: unknown[]): void => log.debug({ from: 'grpc-js' }, format(...parts));
  setLogger({ error: write, info: write, debug: write });
}
