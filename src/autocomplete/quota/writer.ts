import type { Call } from '../../base/call';
import { NO_QUOTAS } from '../../base/quotas';

/** The caller of a write. An empty identity owns nothing, and has no quota of entries or bytes. */
export type Writer = Pick<Call, 'identity' | 'quotas'>;

/** The caller of a server without authentication. */
export const NO_WRITER: Writer = { identity: '', quotas: NO_QUOTAS };

export function hasEntryQuota({ identity, quotas }: Writer): boolean {
  return identity !== '' && (quotas.entries !== undefined || quotas.bytes !== undefined);
}
