/** Readers of one lock that somebody writes: streams over one connection, which wait, and are let in together. */
import { randomUUID } from 'node:crypto';
import { constants, setPriority } from 'node:os';
import { LockMode } from '../../generated/typescript/holdfast/v1/lease';
import type { HoldLockResponse } from '../../generated/typescript/holdfast/v1/lock_service';
import { inFlight } from './in-flight';
import { LockClient } from '../../test/support/clients/lock-client';
import { serveTasks } from './serve-tasks';

const TTL_MS = 120_000;
const WAIT_MS = 600_000;
/** Streams being opened at the same time. */
const OPENING = 64;

let grants: Promise<void>[] = [];

/** Resolves when it waits; when it is granted, the other promise does. */
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

// It is Redis that is measured: it is not to wait for a processor while a thousand readers hear of their grants.
setPriority(constants.priority.PRIORITY_LOW);

const tasks = {
  queue: async ({ address, name, streams }: { address: string; name: string; streams: number }) => {
    const client = new LockClient(address);
    grants = [];
    await inFlight({ count: streams, inFlight: OPENING }, async () => {
      const { queued, granted } = queue(client, name);
      granted.catch(() => undefined); // until it is waited for
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
