import { setTimeout as pause } from 'node:timers/promises';
import { connect as connectTo, type Lease } from '..';
import { BENCH } from './bench';
import type { Desk } from './desk';
import { given, lockOptions, permitsOptions, tlsOptions, tokenOf, type Fields, type Serve } from './options';
import { PRODUCTS } from './products';
import { withLock } from './with-lock';

async function connect(desk: Desk, fields: Fields): Promise<object> {
  const { tls, token_file: file } = fields as { tls?: Record<string, string>; token_file?: string };
  const options = {
    timeout: fields['connect_ms'],
    holderId: fields['holder_id'],
    metadata: fields['metadata'],
    tls: tls && tlsOptions(tls),
    token: file === undefined ? tokenOf(fields) : { file },
  };
  desk.add(String(fields['client']), await connectTo(fields['addresses'] as string[], given(options)));
  return { connected: true };
}

/** Acquires a lock or permits, and keeps the lease under its name. */
function acquiring(
  acquire: (desk: Desk, fields: Fields, signal: AbortSignal) => Promise<Lease | undefined>,
): Serve {
  return async (desk, fields) => {
    const lease = await acquire(desk, fields, desk.cancelSignal(fields['id']));
    if (lease === undefined) return { contended: true };
    desk.keep(String(fields['lease']), lease);
    return { granted: { token: String(lease.fencingToken) } };
  };
}

const clientOf = (desk: Desk, fields: Fields) => desk.client(fields['client']);
const nameOf = (fields: Fields) => String(fields['name']);

export const COMMANDS: Readonly<Record<string, Serve>> = {
  ...PRODUCTS,
  ...BENCH,
  connect,
  lock: acquiring((desk, fields, signal) =>
    clientOf(desk, fields).lock(nameOf(fields), { ...lockOptions(fields), signal }),
  ),
  try_lock: acquiring((desk, fields, signal) =>
    clientOf(desk, fields).tryLock(nameOf(fields), { ...lockOptions(fields), signal }),
  ),
  permits: acquiring((desk, fields, signal) =>
    clientOf(desk, fields).permits(nameOf(fields), { ...permitsOptions(fields), signal }),
  ),
  try_permits: acquiring((desk, fields, signal) =>
    clientOf(desk, fields).tryPermits(nameOf(fields), { ...permitsOptions(fields), signal }),
  ),
  with_lock: withLock,
  server_info: async (desk, fields) => ({ ...(await clientOf(desk, fields).serverInfo()) }),
  check: (desk, fields) => {
    const lease = desk.lease(fields['lease']);
    lease.check();
    return Promise.resolve({ valid: true, remaining_ms: Math.floor(lease.remaining()) });
  },
  release: async (desk, { lease }) => ({ released: (await desk.released(lease).release()).released }),
  update: async (desk, { lease, metadata }) => {
    await desk.lease(lease).updateMetadata(metadata as Record<string, string>);
    return { updated: true };
  },
  end_work: (desk, { of, fail }) => {
    desk.works.get(Number(of))?.end(fail as string | undefined);
    return Promise.resolve({ ended: true });
  },
  cancel: (desk, { of }) => {
    desk.cancel(of);
    return Promise.resolve({ cancelled: true });
  },
  close: async (desk, fields) => {
    await clientOf(desk, fields).close();
    return { closed: true };
  },
  leaks: async () => {
    // A destroyed socket is gone after the next turns.
    await pause(50);
    const resources = process.getActiveResourcesInfo();
    const count = (...kinds: string[]): number => resources.filter((one) => kinds.includes(one)).length;
    return { sockets: count('TCPSocketWrap', 'TLSWrap'), tasks: count('Timeout') };
  },
};
