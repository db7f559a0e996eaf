/** Shared requests for one lock behind a writer: streams over one connection, which are granted together. */
import { randomUUID } from 'node:crypto';
import { constants, setPriority } from 'node:os';
import { LockMode } from '../../generated/typescript/holdfast/v1/lease';
import type { HoldLockResponse } from '../../generated/typescript/holdfast/v1/lock_service';
import { inFlight } from './in-flight';
import { LockClient } from '../../test/support/clients/lock-client';
import { serveTasks } from './serve-tasks';

const TTL_MS = 120_000;
const WAIT_MS = 600_000;
/** The number of streams that are opened at the same time. */
const OPENING = 64;

let grants: Promise<void>[] = [];

/** Opens a stream. `queued` resolves when it waits, `granted` when it has the lock. */
function queue(client: LockClient, name: string): { queued: Promise<void>; granted: Promise<void> } {
  const mode = LockMode.LOCK_MODE_SHARED;
  const value = { name, mode, ttlMs: TTL_MS, waitMs: WAIT_MS, requestId: randomUUID() };
  const stream = client.openHold({ $case: 'acquire', value });
  const until = (kind: 'queued' | 'granted') =>
    new Promise<void>((resolve, reject) => {
      stream.on('error', reject);
      stream.on('data', ({ holdEvent }: HoldLockResponse) => {
        if (holdEvent?.event?.$case === kind) resolve();
      });
    });
  return { queued: until('queued'), granted: until('granted') };
}

// A low priority, so that Redis, which is measured, does not wait for a processor while readers handle their grants.
setPriority(constants.priority.PRIORITY_LOW);

const tasks = {
  queue: async ({ address, name, streams }: { address: string; name: string; streams: number }) => {
    const client = new LockClient(address);
    grants = [];
    await inFlight({ count: streams, inFlight: OPENING }, async () => {
      const { queued, granted } = queue(client, name);
      granted.catch(() => undefined); // avoids an unhandled rejection before `granted` is awaited
      grants.push(granted);
      await queued;
    });
  },
  granted: async () => {
    await Promise.all(grants);
  },
};

export type ReadersTasks = typeof tasks;

serveTasks(tasks);
