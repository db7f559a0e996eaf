import { BinaryReader } from '@bufbuild/protobuf/wire';
import type { AutocompleteServiceService } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import type { LockServiceService } from '../../generated/typescript/holdfast/v1/lock_service';
import type { SemaphoreServiceService } from '../../generated/typescript/holdfast/v1/semaphore_service';
import type { ServerServiceService } from '../../generated/typescript/holdfast/v1/server_service';
import type { SessionServiceService } from '../../generated/typescript/holdfast/v1/session_service';
import type { ImportPart } from '../autocomplete/service/large-requests';
import type { Service } from '../leases/lease';
import { decodeLeaseId } from '../leases/lease-id';
import { UndecodedMessage } from '../rpc/decoding';
import type { CalledService, Verb } from './verbs';

/** The permissions of the caller of one call, for the call's service. */
export interface NameChecks {
  /** Throws NOT_ALLOWED unless the caller has the verb of the call for the name. */
  require(name: string): void;
  /** Throws NOT_ALLOWED unless the caller has the verb for the name. */
  requireVerb(verb: Verb, name: string): void;
  may(verb: Verb, name: string): boolean;
  /** Checks the names of the message before again, because the policy may have changed. */
  requireAgain(): void;
}

/** Requires the permission for each name in a request. */
export type CheckNames<Request> = (request: Request, caller: NameChecks) => void;

type RequestOf<Method> = Method extends { requestDeserialize: (bytes: Buffer) => infer Request }
  ? Request
  : never;
type ChecksOf<Service> = { readonly [Method in keyof Service]: CheckNames<RequestOf<Service[Method]>> };
/** The requests that the server decodes in another way than the generated code. */
type AutocompleteChecks = Omit<
  ChecksOf<typeof AutocompleteServiceService>,
  'putEntries' | 'importDictionary'
> & {
  readonly putEntries: CheckNames<{ readonly dictionary: string } | UndecodedMessage>;
  readonly importDictionary: CheckNames<{ readonly part: ImportPart | undefined }>;
};

const byName: CheckNames<{ readonly name: string }> = ({ name }, caller) => caller.require(name);
const byDictionary: CheckNames<{ readonly dictionary: string }> = ({ dictionary }, caller) =>
  caller.require(dictionary);
const byList: CheckNames<{ readonly list: string }> = ({ list }, caller) => caller.require(list);
/** The handler leaves out the names that the caller may not read. */
const filtered: CheckNames<object> = () => undefined;
/** Every proven caller may make the call. */
const open: CheckNames<object> = () => undefined;

/** The handler refuses a malformed lease_id, which names nothing. */
const byLeaseId =
  (service: Service): CheckNames<{ readonly leaseId: string }> =>
  ({ leaseId }, caller) => {
    const id = decodeLeaseId(service, leaseId);
    if (id !== undefined) caller.require(id.resource.name);
  };

interface HoldStart<Acquire> {
  readonly start?: { $case: 'acquire'; value: Acquire } | { $case: 'leaseId'; value: string } | undefined;
}

/** The handler refuses a request without a start. */
const byStart = <Acquire>(service: Service, acquire: CheckNames<Acquire>): CheckNames<HoldStart<Acquire>> => {
  const attach = byLeaseId(service);
  return ({ start }, caller) => {
    if (start?.$case === 'acquire') acquire(start.value, caller);
    else if (start !== undefined) attach({ leaseId: start.value }, caller);
  };
};

/** Without the permission to set limits, `initial_limit` counts as unset, so the semaphore must exist. */
const byPermits: CheckNames<{ readonly name: string; initialLimit?: number | undefined }> = (
  request,
  caller,
) => {
  caller.require(request.name);
  if (request.initialLimit !== undefined && !caller.may('limit', request.name))
    request.initialLimit = undefined;
};

const bySuggest: CheckNames<{ readonly dictionary: string; readonly recentsList: string }> = (
  { dictionary, recentsList },
  caller,
) => {
  caller.require(dictionary);
  if (recentsList !== '') caller.requireVerb('read', recentsList);
};

const locks = {
  acquireLock: byName,
  renewLock: byLeaseId('lock'),
  releaseLock: byLeaseId('lock'),
  holdLock: byStart('lock', byName),
  getLock: byName,
  listLocks: filtered,
  watchLock: byName,
  revokeLock: byName,
} satisfies ChecksOf<typeof LockServiceService>;

const semaphores = {
  acquirePermits: byPermits,
  renewPermits: byLeaseId('semaphore'),
  releasePermits: byLeaseId('semaphore'),
  holdPermits: byStart('semaphore', byPermits),
  setSemaphoreLimit: byName,
  getSemaphore: byName,
  deleteSemaphore: ({ name, force }, caller) => {
    caller.require(name);
    if (force) caller.requireVerb('admin', name);
  },
  listSemaphores: filtered,
  watchSemaphore: byName,
  revokePermits: byName,
} satisfies ChecksOf<typeof SemaphoreServiceService>;

const autocomplete = {
  addRecent: byList,
  removeRecent: byList,
  suggestRecents: byList,
  deleteRecents: byList,
  createDictionary: byDictionary,
  putEntries: (request, caller) =>
    caller.require(request instanceof UndecodedMessage ? dictionaryIn(request) : request.dictionary),
  deleteEntries: byDictionary,
  /** The handler passes each part. Parts after the start name nothing themselves. */
  importDictionary: ({ part }, caller) => {
    if (part?.$case === 'start') caller.require(part.value.dictionary);
    else caller.requireAgain();
  },
  recordSelection: byDictionary,
  suggest: bySuggest,
  /** The handler passes each message. */
  suggestStream: ({ suggest }, caller) => {
    if (suggest !== undefined) bySuggest(suggest, caller);
  },
  listEntries: byDictionary,
  getDictionary: byDictionary,
  listDictionaries: filtered,
  deleteDictionary: byDictionary,
} satisfies AutocompleteChecks;

const servers = {
  getServerInfo: open,
  endQuarantine: (_request, caller) => caller.require(''),
  listCallers: (_request, caller) => caller.require(''),
} satisfies ChecksOf<typeof ServerServiceService>;

const sessions = {
  /** The commands name resources. Each kind of command has its own verb. */
  openSession: open,
} satisfies ChecksOf<typeof SessionServiceService>;

/** The checks of each call, by service and by the name of the call with a small first letter. */
export const NAMED_RESOURCES: Readonly<Record<CalledService, Readonly<Record<string, CheckNames<never>>>>> = {
  LockService: locks,
  SemaphoreService: semaphores,
  AutocompleteService: autocomplete,
  ServerService: servers,
  SessionService: sessions,
};

const LENGTH_DELIMITED = 2;

/**
 * The dictionary of a large PutEntriesRequest. Refuses most callers before a thread decodes the request. An attacker can
 * build a request that the generated code reads differently, so the handler checks the decoded dictionary again.
 */
function dictionaryIn({ bytes }: UndecodedMessage): string {
  const reader = new BinaryReader(bytes);
  let dictionary = '';
  try {
    while (reader.pos < reader.len) {
      const tag = reader.uint32();
      const wireType = tag & 7;
      if (tag >>> 3 === 1 && wireType === LENGTH_DELIMITED) {
        dictionary = reader.string();
      } else if (wireType === LENGTH_DELIMITED) {
        const length = reader.uint32();
        reader.pos += length;
      } else {
        reader.skip(wireType);
      }
    }
  } catch {
    // The handler refuses bytes that are no message.
  }
  return dictionary;
}

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
