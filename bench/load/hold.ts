/** Opens hold streams over a single connection, and counts their events. */
import { randomUUID } from 'node:crypto';
import type { HoldEvent } from '../../generated/typescript/holdfast/v1/lease';
import type { HoldCall } from '../../test/support/clients/hold-stream';
import { inFlight } from './in-flight';
import { LockClient } from '../../test/support/clients/lock-client';
import { serveTasks } from './serve-tasks';

/** The number of streams that are opened at the same time. */
const OPENING = 64;

type HoldMessage = { holdEvent?: HoldEvent | undefined };

let renewed = 0;
let failed = 0;

async function open(client: LockClient, name: string, ttlMs: number): Promise<void> {
  const value = { name, ttlMs, waitMs: 0, requestId: randomUUID() };
  await granted(client.openHold({ $case: 'acquire', value }));
}

/** Resolves at the grant. Counts later renewals and all other events. */
function granted(stream: HoldCall): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.on('error', (error) => {
      failed += 1;
      reject(error);
    });
    stream.on('data', ({ holdEvent }: HoldMessage) => {
      const kind = holdEvent?.event?.$case;
      if (kind === 'granted') resolve();
      else if (kind === 'renewed') renewed += 1;
      else failed += 1;
    });
  });
}

const tasks = {
  open: async (to: { address: string; label: string; streams: number; ttlMs: number }) => {
    const client = new LockClient(to.address);
    await inFlight({ count: to.streams, inFlight: OPENING }, (index) =>
      open(client, `${to.label}-${index}`, to.ttlMs),
    );
  },
  /** The number of renewals, and the number of all other events after a grant. */
  events: () => Promise.resolve({ renewed, failed }),
};

export type HoldTasks = typeof tasks;

serveTasks(tasks);
