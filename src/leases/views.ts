import type { HolderView, ResourceView, Service, WaiterView } from './lease';

/**
 * A holder or waiter without the fields that its service hides. A lock hides its permit count: an exclusive holder
 * takes LOCK_LIMIT permits. A semaphore hides its mode.
 */
export function shownToClients<T extends HolderView | WaiterView>(service: Service, view: T): T {
  return service === 'lock' ? { ...view, permitCount: 1 } : { ...view, mode: undefined };
}

export function resourceShownToClients(service: Service, view: ResourceView): ResourceView {
  return {
    ...view,
    holders: view.holders.map((holder) => shownToClients(service, holder)),
    waiters: view.waiters.map((waiter) => shownToClients(service, waiter)),
  };
}
