import type { AutocompleteServiceService } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import type { LockServiceService } from '../../generated/typescript/holdfast/v1/lock_service';
import type { SemaphoreServiceService } from '../../generated/typescript/holdfast/v1/semaphore_service';
import type { ServerServiceService } from '../../generated/typescript/holdfast/v1/server_service';
import type { ImportPart } from '../autocomplete/service/large-requests';
import type { CalledService } from './verbs';

/** An act of a call for the audit log. Has no lease_id, because a lease_id is a secret. */
export interface AuditedAct {
  readonly action:
    | 'revoke'
    | 'set limit'
    | 'pause semaphore'
    | 'resume semaphore'
    | 'delete semaphore'
    | 'delete semaphore by force'
    | 'create dictionary'
    | 'delete dictionary'
    | 'import dictionary'
    | 'end quarantine';
  readonly name: string;
  /** The reason in the request. */
  readonly requestReason?: string;
  /** The details: the new limit, or the target of a revocation. */
  readonly details?: Readonly<Record<string, string | number | boolean>>;
}

type ActOf<Request> = (request: Request) => AuditedAct | undefined;
type RequestOf<Method> = Method extends { requestDeserialize: (bytes: Buffer) => infer Request }
  ? Request
  : never;
type ActsOf<Service> = { readonly [Method in keyof Service]?: ActOf<RequestOf<Service[Method]>> };

interface RevokeRequest {
  readonly name: string;
  readonly target?: { readonly $case: string; readonly value: bigint | number | boolean } | undefined;
  readonly force: boolean;
  readonly reason: string;
}

const revoke: ActOf<RevokeRequest> = ({ name, target, force, reason }) => ({
  action: 'revoke',
  name,
  requestReason: reason,
  details: { force, ...(target && { target: `${target.$case} ${target.value}` }) },
});

const locks: ActsOf<typeof LockServiceService> = { revokeLock: revoke };

const semaphores: ActsOf<typeof SemaphoreServiceService> = {
  revokePermits: revoke,
  setSemaphoreLimit: ({ name, limit, expectedLimit, paused }) => ({
    action: paused === undefined ? 'set limit' : paused ? 'pause semaphore' : 'resume semaphore',
    name,
    details: { ...(limit !== undefined && { limit }), ...(expectedLimit !== undefined && { expectedLimit }) },
  }),
  deleteSemaphore: ({ name, force }) => ({
    action: force ? 'delete semaphore by force' : 'delete semaphore',
    name,
  }),
};

const autocomplete: Omit<ActsOf<typeof AutocompleteServiceService>, 'importDictionary'> & {
  readonly importDictionary: ActOf<{ readonly part: ImportPart | undefined }>;
} = {
  createDictionary: ({ dictionary }) => ({ action: 'create dictionary', name: dictionary }),
  deleteDictionary: ({ dictionary }) => ({ action: 'delete dictionary', name: dictionary }),
  importDictionary: ({ part }) =>
    part?.$case === 'start' ? { action: 'import dictionary', name: part.value.dictionary } : undefined,
};

const servers: ActsOf<typeof ServerServiceService> = {
  endQuarantine: ({ reason }) => ({ action: 'end quarantine', name: '', requestReason: reason }),
};

/** The acts of each audited call, by service and by the name of the call with a small first letter. */
export const AUDITED_ACTS: Readonly<
  Record<CalledService, Readonly<Record<string, ActOf<never> | undefined>>>
> = {
  LockService: locks,
  SemaphoreService: semaphores,
  AutocompleteService: autocomplete,
  ServerService: servers,
  SessionService: {},
};
