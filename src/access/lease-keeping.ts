import type { CalledService } from './verbs';

interface HoldMessage {
  readonly start?: { readonly $case: string } | undefined;
}

const always = (): boolean => true;
const never = (): boolean => false;
const attaches = (request: unknown): boolean => (request as HoldMessage).start?.$case === 'leaseId';

/** The calls that keep or end a lease, by service and by the name of the call with a small first letter. */
const CALLS: Partial<Record<CalledService, Readonly<Record<string, (request: unknown) => boolean>>>> = {
  LockService: { renewLock: always, releaseLock: always, holdLock: attaches },
  SemaphoreService: { renewPermits: always, releasePermits: always, holdPermits: attaches },
};

/** Whether a request of a call keeps or ends a lease. */
export function keepsLease(service: CalledService, field: string): (request: unknown) => boolean {
  return CALLS[service]?.[field] ?? never;
}
