import { ListOrder } from '../../../generated/typescript/holdfast/v1/lease';
import {
  Semaphore,
  SemaphoreServiceService as service,
} from '../../../generated/typescript/holdfast/v1/semaphore_service';
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
    { title: 'LIMIT', value: ({ limit }) => String(limit), isNumber: true },
    { title: 'HOLDERS', value: ({ holderCount }) => String(holderCount), isNumber: true },
    { title: 'WAITERS', value: ({ waiterCount }) => String(waiterCount), isNumber: true },
    { title: 'HOLDER', value: firstHolder, mayShrink: true },
  ],
  fields: ({ usedCount, limit, overcommittedCount }) => [
    [
      'permits',
      `${usedCount} of ${limit} used${overcommittedCount > 0 ? `, ${overcommittedCount} above the limit` : ''}`,
    ],
  ],
};
