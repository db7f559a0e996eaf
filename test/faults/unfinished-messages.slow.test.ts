import { residentBytes } from '../../bench/support/cpu';
import { AutocompleteServiceService } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { AcquireLockRequest, LockServiceService } from '../../generated/typescript/holdfast/v1/lock_service';
import { acquireRequest } from '../contract/harness';
import { frame, RawConnection } from '../contract/raw-call';
import { closeAll, eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';

const MIB = 1024 * 1024;
const LENGTH = 4 * MIB;
const STREAMS = 600;

let redis: RedisProcess;
let server: ServerProcess;
beforeEach(async () => {
  redis = await RedisProcess.start();
  server = await ServerProcess.start({ redisUrl: redis.url });
});
afterEach(() =>
  closeAll(
    () => server.close(),
    () => redis.close(),
  ),
);

/** Starts messages that stop 10 bytes before their end. Resolves when `refusals` of them have ended. */
async function attack(connections: readonly RawConnection[], refusals: number): Promise<void> {
  const part = Buffer.alloc(5 + LENGTH - 10);
  part.writeUInt32BE(LENGTH, 1);
  let refused = 0;
  for (let started = 0; started < STREAMS; started++) {
    const connection = connections[started % connections.length]!;
    const stream = connection.open({ path: AutocompleteServiceService.putEntries.path });
    stream.write(part);
    void stream.outcome.then(() => (refused += 1));
  }
  await eventually(`${refusals} refusals`, () => refused >= refusals, { timeoutMs: 120_000 });
}

async function answers(connection: RawConnection, name: string): Promise<void> {
  const request = acquireRequest({
    name,
    ttl: { seconds: 5n, nanos: 0 },
    waitTimeout: { seconds: 0n, nanos: 0 },
  });
  const body = frame(AcquireLockRequest.encode(request).finish());
  const { code, message } = await connection.call({ path: LockServiceService.acquireLock.path, body });
  expect({ code, message }).toEqual({ code: 0, message: 'OK' });
}

// Without bounds, 600 such messages take 2.5 GB. The bound here leaves room for memory that waits for its collection.
test.each([
  { connectionCount: 1, refusals: STREAMS - 8, grownMib: 200 },
  { connectionCount: 20, refusals: STREAMS - 17, grownMib: 400 },
])(
  '600 messages without an end on $connectionCount connections take less than $grownMib MiB, and other clients are served',
  async ({ connectionCount, refusals, grownMib }) => {
    const innocent = new RawConnection(server.listen);
    const attackers = Array.from({ length: connectionCount }, () => new RawConnection(server.listen));
    try {
      await answers(innocent, 'before');
      const before = residentBytes(server.pid);
      const attacked = attack(attackers, refusals);
      await answers(innocent, 'during');
      await attacked;
      await answers(innocent, 'after');
      expect((residentBytes(server.pid) - before) / MIB).toBeLessThan(grownMib);
    } finally {
      for (const connection of [innocent, ...attackers]) connection.close();
    }
    server.assertNoUnhandled();
  },
);
