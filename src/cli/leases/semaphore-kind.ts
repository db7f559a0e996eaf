import { InvalidRequestError, type Holdfast } from '../../../clients/typescript';
import { ListOrder } from '../../../generated/typescript/holdfast/v1/lease';
import {
  Semaphore,
  SemaphoreServiceService as service,
  type SetSemaphoreLimitResponse,
} from '../../../generated/typescript/holdfast/v1/semaphore_service';
import { CliError } from '../exit-codes';
import type { ResourceKind } from './resource-kind';
import { required, revocationRequest } from './requests';
import { firstHolder } from './resource-text';

/** The commands of `holdfast semaphore`, over SemaphoreService. */
export const semaphoreKind: ResourceKind<Semaphore> = {
  word: 'semaphore',
  async get(hf, name) {
    const { semaphore } = await hf.call(service.getSemaphore, { name });
    return required(semaphore, `semaphore "${name}"`);
  },
  async list(hf, { byWaiterCount, ...query }) {
    const orderBy = byWaiterCount ? ListOrder.LIST_ORDER_WAITER_COUNT : ListOrder.LIST_ORDER_UNSPECIFIED;
    const { semaphores, nextPageToken, sampled } = await hf.call(service.listSemaphores, {
      ...query,
      orderBy,
    });
    return { rows: semaphores, nextPageToken, sampled };
  },
  async *watch(hf, name, signal) {
    for await (const { semaphore } of hf.watch(service.watchSemaphore, { name }, { signal })) {
      yield required(semaphore, `semaphore "${name}"`);
    }
  },
  revoke: (hf, revocation) => hf.call(service.revokePermits, revocationRequest(revocation)),
  toJson: (semaphore) => Semaphore.toJSON(semaphore),
  columns: [
    { title: 'NAME', value: ({ name }) => name, mayShrink: true },
    { title: 'USED', value: ({ usedCount }) => String(usedCount), isNumber: true },
    { title: 'LIMIT', value: limitText, isNumber: true },
    { title: 'HOLDERS', value: ({ holderCount }) => String(holderCount), isNumber: true },
    { title: 'WAITERS', value: ({ waiterCount }) => String(waiterCount), isNumber: true },
    { title: 'HOLDER', value: firstHolder, mayShrink: true },
  ],
  fields: (semaphore) => [['permits', permitsText(semaphore)]],
};

/** With a kept limit, the limit that comes back: "8 paused". */
export function limitText({ limit, keptLimit }: Semaphore): string {
  return keptLimit > 0 ? `${keptLimit} paused` : String(limit);
}

function permitsText({ usedCount, limit, keptLimit, overcommittedCount }: Semaphore): string {
  if (keptLimit > 0)
    return `${usedCount} used; "holdfast semaphore resume" brings back the limit ${keptLimit}`;
  return `${usedCount} of ${limit} used${overcommittedCount > 0 ? `, ${overcommittedCount} above the limit` : ''}`;
}

/** Pauses or resumes. `limit` stays unset, because an old server would take it and ignore `paused`. */
export function setPaused(
  hf: Holdfast,
  name: string,
  paused: boolean,
  { expectedLimit, signal }: { expectedLimit?: number | undefined; signal?: AbortSignal } = {},
): Promise<SetSemaphoreLimitResponse> {
  const request = { name, limit: undefined, expectedLimit, paused };
  return hf.call(service.setSemaphoreLimit, request, { signal }).catch(explainOldServer);
}

/** Only a server that does not know `paused` misses the limit. */
function explainOldServer(error: unknown): never {
  const isOld =
    error instanceof InvalidRequestError && error.violations.some(({ field }) => field === 'limit');
  throw isOld ? oldServer() : error;
}

/** Rejects if the server does not know `paused`. */
export async function requirePause(hf: Holdfast): Promise<void> {
  const { features } = await hf.serverInfo();
  if (!features.includes('SEMAPHORE_PAUSE')) throw oldServer();
}

function oldServer(): CliError {
  return new CliError(
    'this server cannot pause and resume semaphores, because its version is too old: use "semaphore set-limit"',
  );
}
