import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { ServerServiceService } from '../../generated/typescript/holdfast/v1/server_service';
import { readCallRules } from '../../src/access/call-rules';
import {
  AUTOCOMPLETE_REQUEST_BYTES,
  autocompleteServiceDefinition,
} from '../../src/autocomplete/service/autocomplete-services';
import { callKinds } from '../../src/rpc/call-kinds';
import { MAX_REQUEST_BYTES } from '../../src/rpc/entry/intake';
import { lockServiceDefinition, semaphoreServiceDefinition } from '../../src/leases/service/lease-services';
import {
  SESSION_REQUEST_BYTES,
  sessionServiceDefinition,
} from '../../src/leases/service/session-conversation';
import { ROOT } from '../support/root';

/**
 * Four tables give a call that they lack a default: its priority, the longest request, whether quotas refuse the call,
 * and whether the audit log has it. So each call of the contract is here, with what was decided. A new call fails here
 * until its line is added (CONTRIBUTING.md).
 */

const DECIDED: Readonly<Record<string, string>> = {
  'AutocompleteService/AddRecent': 'low, 64',
  'AutocompleteService/CreateDictionary': 'low, 64, audited',
  'AutocompleteService/DeleteDictionary': 'low, 64, audited',
  'AutocompleteService/DeleteEntries': 'low, 1024',
  'AutocompleteService/DeleteRecents': 'low, 64',
  'AutocompleteService/GetDictionary': 'low, 64',
  'AutocompleteService/ImportDictionary': 'low, 4096, audited',
  'AutocompleteService/ListDictionaries': 'low, 64',
  'AutocompleteService/ListEntries': 'low, 64',
  'AutocompleteService/PutEntries': 'low, 4096',
  'AutocompleteService/RecordSelection': 'low, 64',
  'AutocompleteService/RemoveRecent': 'low, 64',
  'AutocompleteService/Suggest': 'low, 64',
  'AutocompleteService/SuggestRecents': 'low, 64',
  'AutocompleteService/SuggestStream': 'low, 64',
  'LockService/AcquireLock': 'normal, 64',
  'LockService/GetLock': 'low, 64',
  'LockService/HoldLock': 'normal, 64, keeps if it attaches',
  'LockService/ListLocks': 'low, 64',
  'LockService/ReleaseLock': 'high, 64, keeps',
  'LockService/RenewLock': 'high, 64, keeps',
  'LockService/RevokeLock': 'normal, 64, audited',
  'LockService/WatchLock': 'normal, 64',
  'SemaphoreService/AcquirePermits': 'normal, 64',
  'SemaphoreService/DeleteSemaphore': 'normal, 64, audited',
  'SemaphoreService/GetSemaphore': 'low, 64',
  'SemaphoreService/HoldPermits': 'normal, 64, keeps if it attaches',
  'SemaphoreService/ListSemaphores': 'low, 64',
  'SemaphoreService/ReleasePermits': 'high, 64, keeps',
  'SemaphoreService/RenewPermits': 'high, 64, keeps',
  'SemaphoreService/RevokePermits': 'normal, 64, audited',
  'SemaphoreService/SetSemaphoreLimit': 'normal, 64, audited',
  'SemaphoreService/WatchSemaphore': 'normal, 64',
  'ServerService/EndQuarantine': 'high, 64, audited',
  'ServerService/GetServerInfo': 'low, 64',
  'ServerService/ListCallers': 'low, 64',
  'SessionService/OpenSession': 'normal, 1024',
};

const SERVICES: readonly ServiceDefinition[] = [
  lockServiceDefinition,
  semaphoreServiceDefinition,
  sessionServiceDefinition,
  autocompleteServiceDefinition,
  ServerServiceService,
];
const SIZES = new Map([...AUTOCOMPLETE_REQUEST_BYTES, ...SESSION_REQUEST_BYTES]);
const RULES = readCallRules(readFileSync(join(ROOT, 'generated', 'descriptor.binpb')));

const ATTACH = { start: { $case: 'leaseId', value: '' } };

/** The priority, the longest request (KiB), and what applies of: keeps a lease, only if it attaches; audited. */
function decided(path: string): string {
  const rule = RULES.get(path)!;
  const keeps = rule.keepsLease({}) ? ['keeps'] : rule.keepsLease(ATTACH) ? ['keeps if it attaches'] : [];
  const audited = rule.actOf ? ['audited'] : [];
  const { priority } = callKinds(SERVICES, SIZES)(path);
  return [priority, `${(SIZES.get(path) ?? MAX_REQUEST_BYTES) / 1024}`, ...keeps, ...audited].join(', ');
}

test('each call of the contract has the priority, size, quota rule and audit line that were decided for it', () => {
  const lines = [...RULES.keys()].map((path) => [path.replace('/holdfast.v1.', ''), decided(path)]);
  expect(Object.fromEntries(lines)).toEqual(DECIDED);
});
