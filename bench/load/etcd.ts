/** Lock and Unlock of etcd's lock service, with a fixed number of calls in flight. */
import { join } from 'node:path';
import {
  credentials,
  loadPackageDefinition,
  type ChannelCredentials,
  type ServiceError,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { ROOT } from '../../test/support/root';
import { promised } from '../../test/support/clients/calls';
import { inFlight, type Amount } from './in-flight';
import { serveTasks } from './serve-tasks';

const TTL_MS = 600_000;

type Method = (request: object, done: (error: ServiceError | null, response: Answer) => void) => void;
type Stubs = Record<string, new (address: string, secret: ChannelCredentials) => Record<string, Method>>;

/** The answers' fields that this program reads. */
interface Answer {
  readonly key: Buffer;
  readonly ID: string;
}

let label = '';
let lease = '';
let call: (method: string, request: object) => Promise<Answer> = () =>
  Promise.reject(new Error('call connect first'));

/** Connects to etcd's lock and lease services. */
function connect(address: string): typeof call {
  const files = ['v3lockpb/lock.proto', 'etcdserverpb/lease.proto'];
  const definition = loadSync(files, { includeDirs: [join(ROOT, 'bench', 'proto')], longs: String });
  const { v3lockpb, etcdserverpb } = loadPackageDefinition(definition) as unknown as Record<string, Stubs>;
  const stubs = [v3lockpb?.Lock, etcdserverpb?.Lease].map(
    (Stub) => Stub && new Stub(address, credentials.createInsecure()),
  );
  return (method, request) => {
    const stub = stubs.find((one) => one?.[method] !== undefined);
    return promised((done) => stub?.[method]?.(request, done));
  };
}

async function grantLease(): Promise<string> {
  return (await call('leaseGrant', { TTL: String(TTL_MS / 1000) })).ID;
}

async function lockAndUnlock(client: number, lease: string): Promise<void> {
  const { key } = await call('lock', { name: Buffer.from(`${label}-${client}`), lease });
  await call('unlock', { key });
}

const tasks = {
  connect: async (to: { address: string; label: string }) => {
    label = to.label;
    call = connect(to.address);
    lease = await grantLease();
  },
  /** A single lease for all locks of the process, which is the cheapest use of etcd. */
  pairs: (amount: Amount) => inFlight(amount, (_, client) => lockAndUnlock(client, lease)),
  /** A lease for each hold, so that a lock expires when its holder dies, like every lock of Holdfast. */
  pairsWithLeases: (amount: Amount) =>
    inFlight(amount, async (_, client) => {
      const own = await grantLease();
      await lockAndUnlock(client, own);
      await call('leaseRevoke', { ID: own });
    }),
};

export type EtcdTasks = typeof tasks;

serveTasks(tasks);
