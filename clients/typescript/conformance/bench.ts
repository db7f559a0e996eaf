import { credentials } from '@grpc/grpc-js';
import {
  AcquireLockRequest,
  LockServiceClient,
} from '../../../generated/typescript/holdfast/v1/lock_service';
import type { Lease } from '..';
import type { Desk } from './desk';
import type { Fields, Serve } from './options';

/** Acquires and releases the lock of this name. */
type Pair = (name: string) => Promise<void>;

/** Does `count` pairs, with `in_flight` of them at once, each on a lock of its own. */
async function pairs(fields: Fields, pair: Pair): Promise<object> {
  let left = Number(fields['count']);
  const loop = async (index: number): Promise<void> => {
    while (left-- > 0) await pair(`${String(fields['name'])}-${index}`);
  };
  await Promise.all(Array.from({ length: Number(fields['in_flight']) }, (_, index) => loop(index)));
  return { ok: true };
}

/** The bare generated stub over one connection. */
class Stub {
  private readonly client: LockServiceClient;

  constructor(address: string) {
    this.client = new LockServiceClient(address, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  readonly pair: Pair = async (name) => {
    const leaseId = await new Promise<string>((resolve, reject) => {
      this.client.acquireLock({ ...AcquireLockRequest.create(), name }, (error, answer) =>
        error ? reject(error) : resolve(answer.lease?.leaseId ?? ''),
      );
    });
    await new Promise<void>((resolve, reject) => {
      this.client.releaseLock({ leaseId }, (error) => (error ? reject(error) : resolve()));
    });
  };
}

let stub: Stub | undefined;
const held: Lease[] = [];

/** Acquires `count` locks, with `in_flight` acquires at once, and keeps the leases. */
async function hold(desk: Desk, fields: Fields): Promise<object> {
  const hf = desk.client(fields['client']);
  let next = 0;
  const loop = async (): Promise<void> => {
    while (next < Number(fields['count'])) held.push(await hf.lock(`${String(fields['name'])}-${next++}`));
  };
  await Promise.all(Array.from({ length: Number(fields['in_flight']) }, loop));
  return { ok: true };
}

/** For the benchmarks. No case uses these commands. */
export const BENCH: Readonly<Record<string, Serve>> = {
  bench_pairs: (desk, fields) => {
    const hf = desk.client(fields['client']);
    return pairs(fields, async (name) => void (await (await hf.lock(name)).release()));
  },
  bench_stub_pairs: (_, fields) => {
    stub ??= new Stub(String((fields['addresses'] as string[])[0]));
    return pairs(fields, stub.pair);
  },
  bench_hold: hold,
  bench_settle: () => {
    globalThis.gc?.();
    return Promise.resolve({ held: held.filter((lease) => lease.remaining() > 0).length });
  },
};
