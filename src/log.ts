import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import type { Config } from './config/config';

/**
 * Fields that may hold a password, a lease id, or another value that gives control of a lease or the store. The
 * server does not log these fields, but the error object of a library may contain them.
 */
const SECRETS = ['password', 'url', 'leaseId', 'lease_id', 'secret', 'requestId', 'request_id', 'command'];

/** Logs one JSON object per line to standard output. Writes are synchronous, so a crash loses no line. */
export function createLog(level: Config['logLevel'], destination?: DestinationStream): Logger {
  const settings = {
    level,
    base: { pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[secret]' },
  };
  return destination === undefined ? pino(settings) : pino(settings, destination);
}
