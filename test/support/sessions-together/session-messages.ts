import { duration } from '../../../clients/typescript';
import { LockMode } from '../../../generated/typescript/holdfast/v1/lease';
import { lock, permits } from '../clients/session-commands';
import type { AskedRequest } from './asked-request';

/** The commands of sessions that clients/session-commands.ts does not have. */

export function acquireMessage({ resource, fields }: AskedRequest) {
  const { name, requestId, mode, permitCount, initialLimit, ttlMs, waitTimeoutMs } = fields;
  const waitTimeout = waitTimeoutMs === undefined ? undefined : duration(waitTimeoutMs);
  if (resource.service === 'semaphore') {
    return permits(name, { requestId, ttl: duration(ttlMs), waitTimeout, permitCount, initialLimit });
  }
  const lockMode = mode === 'shared' ? LockMode.LOCK_MODE_SHARED : LockMode.LOCK_MODE_EXCLUSIVE;
  return lock(name, { requestId, ttlMs, waitTimeout, mode: lockMode });
}

export const releaseById = (leaseId: string) =>
  ({ $case: 'release', value: { lease: { $case: 'leaseId', value: leaseId } } }) as const;

export function update(leaseNumber: number, text: string) {
  const metadataUpdate = { entries: new Map([['text', text]]) };
  return { $case: 'update', value: { leaseNumber: BigInt(leaseNumber), metadataUpdate } } as const;
}
