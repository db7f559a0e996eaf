import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

/** Where ids come from; tests give their own. */
export interface Identities {
  /** A UUID for a unary request that brought none. */
  requestId(): string;
  /** 128 unguessable bits as 22 characters of base64url. */
  secret(): string;
  /** From 0 to below 1, for jitter. */
  random(): number;
}

const SECRET_BYTES = 16;
const pool = Buffer.alloc(256 * SECRET_BYTES);
let used = pool.length;

export const systemIdentities: Identities = {
  requestId: () => v7(),
  secret() {
    // One call to the random source fills many: it costs more than the bytes.
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    used += SECRET_BYTES;
    return pool.toString('base64url', used - SECRET_BYTES, used);
  },
  random: () => Math.random(),
};
