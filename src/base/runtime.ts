import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';
import type { Clock } from './clock';

/** What the parts of a server need of the process around them. */
export interface Runtime {
  readonly clock: Clock;
  readonly identities: Identities;
  /** Reports a defect of background work, which no caller waits for. Never throws. */
  readonly defect: (error: unknown) => void;
  /** Tells the operator of something that the server can live with. */
  readonly warn: (text: string) => void;
}

/** The engine's only source of ids and random numbers. Tests use a predictable source. */
export interface Identities {
  /** A UUID for a unary request without a request id. */
  requestId(): string;
  /** 128 unguessable bits as 22 characters of base64url. */
  secret(): string;
  /** A number for jitter, at least 0 and below 1. */
  random(): number;
}

const SECRET_BYTES = 16;
const pool = Buffer.alloc(256 * SECRET_BYTES);
let usedBytes = pool.length;

export const systemIdentities: Identities = {
  requestId: () => v7(),
  secret() {
    // One call to the random source makes 256 secrets, because a call costs more time than its bytes.
    if (usedBytes === pool.length) {
      randomFillSync(pool);
      usedBytes = 0;
    }
    usedBytes += SECRET_BYTES;
    return pool.toString('base64url', usedBytes - SECRET_BYTES, usedBytes);
  },
  random: () => Math.random(),
};
