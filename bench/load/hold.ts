/** Hold streams over a single connection: leases that renew themselves, and waiters that are granted together. */
import { randomUUID } from 'node:crypto';
import type { HoldEvent } from '../../generated/typescript/holdfast/v1/lease';
import { LockClient, type LockWanted } from '../../test/support/clients/lease-client';
import { inFlight } from './in-flight';
import { serveInBackground } from './serve-tasks';

/** The number of streams that are opened at the same time. */
const OPENING = 64;

type HoldMessage = { holdEvent?: HoldEvent | undefined };

const grants: Promise<void>[] = [];
let renewed = 0;
let failed = 0;

/** Opens a stream. Resolves when the stream is granted or waits. */
function open(client: LockClient, wanted: LockWanted): Promise<void> {
  const stream = client.openHold({ $case: 'acquire', value: { requestId: randomUUID(), ...wanted } });
  return new Promise((answered, refused) => {
    const granted = new Promise<void>((resolve, reject) => {
      stream.on('error', (error) => {
        failed += 1;
        refused(error);
        reject(error);
      });
      stream.on('data', ({ holdEvent }: HoldMessage) => {
        const kind = holdEvent?.event?.$case;
        if (kind === 'granted') resolve();
        else if (kind === 'renewed') renewed += 1;
        else if (kind !== 'queued') failed += 1;
        answered();
      });
    });
    granted.catch(() => undefined); // Avoids an unhandled rejection, because `granted` is awaited later.
    grants.push(granted);
  });
}

const tasks = {
  /** Opens streams for one name, or for a name each, which is the name with a number. */
  open: async (to: { address: string; streams: number; wanted: LockWanted; isShared?: true }) => {
    const client = new LockClient(to.address);
    const { name } = to.wanted;
    await inFlight({ count: to.streams, inFlight: OPENING }, (index) =>
      open(client, { ...to.wanted, name: to.isShared ? name : `${name}-${index}` }),
    );
  },
  granted: async () => {
    await Promise.all(grants);
  },
  /** The number of renewals, and the number of all other events after a grant. */
  events: () => Promise.resolve({ renewed, failed }),
};

export type HoldTasks = typeof tasks;

serveInBackground(tasks);
