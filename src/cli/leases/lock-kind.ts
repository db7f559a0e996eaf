import { ListOrder } from '../../../generated/typescript/holdfast/v1/lease';
import { Lock, LockServiceService as service } from '../../../generated/typescript/holdfast/v1/lock_service';
import type { ResourceKind } from './resource-kind';
import { required, revocationRequest } from './requests';
import { firstHolder } from './resource-text';

/** The commands of `holdfast lock`, over LockService. */
export const lockKind: ResourceKind<Lock> = {
  word: 'lock',
  async get(hf, name) {
    const { lock } = await hf.call(service.getLock, { name });
    return required(lock, `lock "${name}"`);
  },
  async list(hf, { byWaiterCount, ...query }) {
    const orderBy = byWaiterCount ? ListOrder.LIST_ORDER_WAITER_COUNT : ListOrder.LIST_ORDER_UNSPECIFIED;
    const { locks, nextPageToken, sampled } = await hf.call(service.listLocks, { ...query, orderBy });
    return { rows: locks, nextPageToken, sampled };
  },
  async *watch(hf, name, signal) {
    for await (const { lock } of hf.watch(service.watchLock, { name }, { signal })) {
      yield required(lock, `lock "${name}"`);
    }
  },
  revoke: (hf, revocation) => hf.call(service.revokeLock, revocationRequest(revocation)),
  toJson: (lock) => Lock.toJSON(lock),
  columns: [
    { title: 'NAME', value: ({ name }) => name, mayShrink: true },
    { title: 'HOLDERS', value: ({ holderCount }) => String(holderCount), isNumber: true },
    { title: 'WAITERS', value: ({ waiterCount }) => String(waiterCount), isNumber: true },
    { title: 'TOKEN', value: ({ lastFencingToken }) => String(lastFencingToken), isNumber: true },
    { title: 'HOLDER', value: firstHolder, mayShrink: true },
  ],
  fields: () => [],
};
