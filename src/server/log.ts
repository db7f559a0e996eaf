import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import type { Config } from './config/config';

/**
 * Fields that may hold a password, a lease id, or another value that gives control of a lease or the store. The
 * server does not log these fields, but the error object of a library may contain them.
 */
const SECRETS = ['password', 'url', 'leaseId', 'lease_id', 'secret', 'requestId', 'request_id', 'command'];

/** The bytes of lines that wait for a slow reader. Further lines are dropped, so that a log never fills the memory. */
const MAX_WAITING_BYTES = 16 * 2 ** 20;

/** A reader that stands still never blocks the server. With `minLength`, `flush` waits for the lines before. */
function standardOutput(): DestinationStream {
  return pino.destination({ dest: 1, sync: false, minLength: 1, maxLength: MAX_WAITING_BYTES });
}

/** Logs one JSON object per line to standard output. The lines before an exit are written at the exit. */
export function createLog(level: Config['logLevel'], destination = standardOutput()): Logger {
  const settings = {
    level,
    base: { pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[secret]' },
  };
  return pino(settings, destination);
}
