import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack, AttackScene } from './attack';
import { ACQUIRE_LOCK, acquireLock } from './attack';
import type { FrameConnection, RawCall } from './frame-connection';

const TTL_MS = 2000;
const WAIT_MS = 60_000;
/** The server ends a connection after about a thousand resets. A failed attempt to connect again pauses for this time. */
const RECONNECT_PAUSE_MS = 5;

const CONNECTIONS = 10;
const BATCH = 100;

/** Every second call has only headers, because the connection's window bounds the messages. */
function callToReset(name: string, index: number): RawCall {
  return index % 2 === 0 ? acquireLock({ name, ttlMs: TTL_MS, waitMs: 0 }) : { path: ACQUIRE_LOCK };
}

/** Opens and resets calls as fast as the socket takes them, and connects again when the server ends the connection. */
async function resetRapidly(scene: AttackScene, label: string): Promise<void> {
  while (!scene.over) {
    const connection = await scene.connect();
    for (let call = 0; !scene.over && !connection.ended; await sleep(1)) {
      if (!connection.writable) continue;
      for (const end = call + BATCH; call < end; call += 1) {
        connection.call({ ...callToReset(`${label}-${call}`, call), reset: true });
      }
    }
    connection.close();
    await sleep(RECONNECT_PAUSE_MS);
  }
}

/** At full speed each connection sends far more than 10,000 resets in 20 s. */
export const rapidResets: Attack = {
  name: 'rapid-resets',
  title: '10 × 10,000 and more calls that are reset in the same write',
  run: async (scene) => {
    await Promise.all(
      Array.from({ length: scene.scaled(CONNECTIONS) }, (_, index) =>
        resetRapidly(scene, `${scene.label}-${index}`),
      ),
    );
  },
};

const CALLS_PER_SECOND = 3300;
const STEP_MS = 5;
/** The time from a call to its reset. The server has then read the call, which waits or is in flight to the store. */
const RESET_AFTER_MS = 20;

interface Opened {
  readonly connection: FrameConnection;
  readonly stream: number;
  readonly resetAt: number;
}

/** Acquires one name at a fixed rate, and resets each call a little later. */
async function acquireAndReset(scene: AttackScene): Promise<void> {
  const perMs = scene.scaled(CALLS_PER_SECOND) / 1000;
  const opened: Opened[] = [];
  let connection = await scene.connect();
  for (let sent = 0; !scene.over; await sleep(STEP_MS)) {
    if (connection.ended) {
      connection.close();
      connection = await scene.connect();
    }
    const now = performance.now();
    for (; sent < scene.elapsedMs * perMs; sent += 1) {
      const stream = connection.call(acquireLock({ name: scene.label, ttlMs: TTL_MS, waitMs: WAIT_MS }));
      opened.push({ connection, stream, resetAt: now + RESET_AFTER_MS });
    }
    const due = opened.findIndex(({ resetAt }) => resetAt > now);
    for (const one of opened.splice(0, due < 0 ? opened.length : due)) one.connection.reset(one.stream);
  }
}

export const acquiresAndResets: Attack = {
  name: 'acquire-and-reset',
  title: '3,300 acquires a second of one name, each reset after 20 ms',
  run: acquireAndReset,
};
