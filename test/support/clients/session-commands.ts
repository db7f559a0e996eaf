import { randomUUID } from 'node:crypto';
import { duration } from '../../../clients/typescript';
import { AcquireLockRequest } from '../../../generated/typescript/holdfast/v1/lock_service';
import { AcquirePermitsRequest } from '../../../generated/typescript/holdfast/v1/semaphore_service';

/** Commands for SessionStream. */

export function lock(name: string, fields: Partial<AcquireLockRequest> & { ttlMs?: number } = {}) {
  const { ttlMs = 5000, ...rest } = fields;
  const value = AcquireLockRequest.create({ name, requestId: randomUUID(), ttl: duration(ttlMs), ...rest });
  return { $case: 'acquireLock', value } as const;
}

export function permits(name: string, fields: Partial<AcquirePermitsRequest> = {}) {
  const value = AcquirePermitsRequest.create({ name, requestId: randomUUID(), initialLimit: 2, ...fields });
  return { $case: 'acquirePermits', value } as const;
}

export const attach = (leaseId: string) => ({ $case: 'attach', value: { leaseId } }) as const;
export const release = (leaseNumber: number) =>
  ({ $case: 'release', value: { lease: { $case: 'leaseNumber', value: BigInt(leaseNumber) } } }) as const;
export const cancel = (commandId: number) =>
  ({ $case: 'cancel', value: { commandId: BigInt(commandId) } }) as const;
