import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import type { Config } from './config/config';

/**
 * Names under which something might be logged that gives power over a lease or the store. The code logs none
 * of them; this is for the error object of a library that carries one.
 */
const SECRETS = ['password', 'url', 'leaseId', 'lease_id', 'secret', 'requestId', 'request_id', 'command'];

/** One JSON object a line, on standard output, written before the call returns: a crash loses no line. */
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
