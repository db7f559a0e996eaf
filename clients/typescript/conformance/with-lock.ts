import type { Lease } from '..';
import { lockOptions, type Fields } from './options';
import type { Desk } from './desk';

/** Runs a body under a lock. The body ends by `end_work`, or by its cancellation. */
export async function withLock(desk: Desk, fields: Fields): Promise<object> {
  const caller = desk.cancelSignal(fields['id']);
  const options = { ...lockOptions(fields), signal: caller };
  const hf = desk.client(fields['client']);
  await hf.withLock(String(fields['name']), options, (lease) => work(desk, fields, lease, caller));
  return { done: true };
}

async function work(desk: Desk, fields: Fields, lease: Lease, caller: AbortSignal): Promise<void> {
  const of = Number(fields['id']);
  const token = String(lease.fencingToken);
  const tell = (state: string): void => desk.tell({ event: 'body', of, state, token });
  try {
    await new Promise<void>((resolve, reject) => {
      const end = (fail: string | undefined) => (fail === undefined ? resolve() : reject(new Error(fail)));
      desk.works.set(of, { end });
      const cancelled = (): void => {
        tell('cancelled');
        if (fields['ignore_cancel'] !== true) resolve();
      };
      lease.signal.addEventListener('abort', cancelled, { once: true });
      caller.addEventListener('abort', cancelled, { once: true });
      tell('started');
    });
    caller.throwIfAborted();
  } finally {
    desk.works.delete(of);
    tell('ended');
  }
}
