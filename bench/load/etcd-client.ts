import { join } from 'node:path';
import { credentials, loadPackageDefinition, type Client, type ServiceError } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { ROOT } from '../../test/support/root';
import { promised } from '../../test/support/clients/unary-call';

type Method<Request, Response> = (
  request: Request,
  done: (error: ServiceError | null, response: Response) => void,
) => void;

interface LockStub extends Client {
  lock: Method<{ name: Buffer; lease: string }, { key: Buffer }>;
  unlock: Method<{ key: Buffer }, object>;
}

interface LeaseStub extends Client {
  leaseGrant: Method<{ TTL: string }, { ID: string }>;
  leaseRevoke: Method<{ ID: string }, object>;
}

type StubOf<S> = new (address: string, secret: ReturnType<typeof credentials.createInsecure>) => S;

function loadStubs() {
  const definition = loadSync(['v3lockpb/lock.proto', 'etcdserverpb/lease.proto'], {
    includeDirs: [join(ROOT, 'bench', 'proto')],
    longs: String,
  });
  const { v3lockpb, etcdserverpb } = loadPackageDefinition(definition) as unknown as {
    v3lockpb: { Lock: StubOf<LockStub> };
    etcdserverpb: { Lease: StubOf<LeaseStub> };
  };
  return { Lock: v3lockpb.Lock, Lease: etcdserverpb.Lease };
}

/** A client of etcd's lock and lease services. */
export class EtcdClient {
  private readonly locks: LockStub;
  private readonly leases: LeaseStub;

  constructor(address: string) {
    const { Lock, Lease } = loadStubs();
    this.locks = new Lock(address, credentials.createInsecure());
    this.leases = new Lease(address, credentials.createInsecure());
  }

  async grantLease(ttlMs: number): Promise<string> {
    const request = { TTL: String(ttlMs / 1000) };
    return (await promised<{ ID: string }>((done) => this.leases.leaseGrant(request, done))).ID;
  }

  async revokeLease(id: string): Promise<void> {
    await promised((done) => this.leases.leaseRevoke({ ID: id }, done));
  }

  async lock(name: string, lease: string): Promise<Buffer> {
    const request = { name: Buffer.from(name), lease };
    return (await promised<{ key: Buffer }>((done) => this.locks.lock(request, done))).key;
  }

  async unlock(key: Buffer): Promise<void> {
    await promised((done) => this.locks.unlock({ key }, done));
  }

  close(): void {
    this.locks.close();
    this.leases.close();
  }
}
