/** One client that holds many leases in a session, and attaches to them at another server when the session breaks. */
import { randomUUID } from 'node:crypto';
import { attach, lock } from '../../test/support/clients/session-stream';
import { monotonicMs } from '../support/monotonic';
import { BenchSession } from './bench-session';
import { inFlight } from './in-flight';
import { serveTasks } from './serve-tasks';

const TTL_MS = 60_000;
/** The attaches without an answer, as in the session client of the product. */
const WINDOW = 1000;
const ACQUIRES_IN_FLIGHT = 128;

const clientId = randomUUID();
let sessionNumber = 0n;
let leaseIds: readonly string[] = [];
let session: BenchSession;
let broken: Promise<void>;

function openSession(address: string): void {
  sessionNumber += 1n;
  session = new BenchSession(address, undefined, { clientId, sessionNumber });
  broken = session.broken();
}

async function grantedId(command: Parameters<BenchSession['run']>[0]): Promise<string> {
  const { event } = await session.run(command);
  if (event.$case !== 'granted') throw new Error(`not granted: ${JSON.stringify(event)}`);
  return event.value.lease?.leaseId ?? '';
}

const tasks = {
  hold: async ({ address, count }: { address: string; count: number }) => {
    openSession(address);
    const ids: string[] = [];
    await inFlight({ count, inFlight: ACQUIRES_IN_FLIGHT }, async (index) => {
      ids[index] = await grantedId(lock(`moved-${index}`, { ttlMs: TTL_MS }));
    });
    leaseIds = ids;
  },
  /** Waits for the break of the session. The times are on the machine's monotonic clock. */
  move: async ({ address }: { address: string }) => {
    await broken;
    const brokenAt = monotonicMs();
    session.close();
    openSession(address);
    await inFlight({ count: leaseIds.length, inFlight: WINDOW }, async (index) => {
      await grantedId(attach(leaseIds[index] ?? ''));
    });
    return { brokenAt, attachedAt: monotonicMs() };
  },
};

export type SessionMoveTasks = typeof tasks;

serveTasks(tasks);
