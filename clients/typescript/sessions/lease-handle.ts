import type { Lease } from './lease';

interface Handed {
  readonly lease: Lease;
  readonly onForgotten: (lease: Lease) => void;
}

const handles = new FinalizationRegistry<Handed>(({ lease, onForgotten }) => {
  if (!lease.isOver) onForgotten(lease);
});

/**
 * The lease for a caller who releases it. The session keeps the lease itself, so only a handle tells that the caller has
 * forgotten it. `onForgotten` is called when the handle was collected without a release. The session then goes on with the
 * renewals, because the caller may count on the lease as long as the process lives.
 */
export function handleOf<Held extends Lease>(lease: Held, onForgotten: (lease: Lease) => void): Held {
  const handle = new Proxy(lease, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  handles.register(handle, { lease, onForgotten });
  return handle;
}
