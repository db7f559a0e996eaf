/** Streams that wait behind a writer for a shared lock, over a single connection. All are granted together. */
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

/** Opens a stream. `queued` resolves when the stream waits, and `granted` when the stream has the lock. */
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

// This process has a low priority, because Redis is measured and must not wait for a core.
setPriority(constants.priority.PRIORITY_LOW);

const tasks = {
  queue: async ({ address, name, streams }: { address: string; name: string; streams: number }) => {
    const client = new LockClient(address);
    grants = [];
    await inFlight({ count: streams, inFlight: OPENING }, async () => {
      const { queued, granted } = queue(client, name);
      granted.catch(() => undefined); // Avoids an unhandled rejection, because `granted` is awaited later.
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
