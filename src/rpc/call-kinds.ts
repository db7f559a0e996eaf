import type { ServiceDefinition } from '@grpc/grpc-js';
import type { Priority } from '../flow/fair-queue';
import type { CallKind } from './entry/gate';

const UNKNOWN: CallKind = { priority: 'low', unary: true };

/** The kinds of all methods of the services, by path. An unknown method gets its error with low priority. */
export function callKinds(
  services: readonly ServiceDefinition[],
  largePaths: ReadonlyMap<string, unknown> = new Map(),
): (path: string) => CallKind {
  const kinds = new Map<string, CallKind>();
  for (const service of services) {
    for (const { path, requestStream, responseStream } of Object.values(service)) {
      const unary = !requestStream && !responseStream;
      kinds.set(path, {
        priority: priorityOf(path),
        unary,
        isProbe: PROBES.test(path),
        isOpen: OPEN.test(path),
        isLarge: largePaths.has(path),
      });
    }
  }
  return (path) => kinds.get(path) ?? UNKNOWN;
}

/** Work on leases that exist is urgent. So are health checks: a busy server must not seem to be a dead server. */
const URGENT = /\/(Renew|Release|EndQuarantine|Check)[^/]*$/;
const PROBES = /^\/grpc\.health\.v1\.Health\//;
/** Calls that need no credential. */
const OPEN = /^\/grpc\.(health|reflection)\./;
const READS = /\/(Get|List|Suggest)[^/]*$/;
const LEASES = /^\/holdfast\.v1\.(Lock|Semaphore|Session)Service\//;

function priorityOf(path: string): Priority {
  if (URGENT.test(path)) return 'high';
  return LEASES.test(path) && !READS.test(path) ? 'normal' : 'low';
}
