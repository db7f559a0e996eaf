import { setTimeout as sleep } from 'node:timers/promises';
import {
  ACQUIRE_LOCK,
  acquireLock,
  type Attack,
  type AttackScene,
  keepOutstanding,
  sendAtOnce,
} from './attack';
import type { FrameConnection, RawCall } from './frame-connection';
import { forbiddenCalls, forgedTokens, openFloods, openStreams, unprovenCalls } from './refused-calls';

const RESET_TTL_MS = 2000;
const RESET_WAIT_MS = 60_000;
/** The server ends a connection after about a thousand resets. A failed attempt to connect again pauses for this time. */
const RECONNECT_PAUSE_MS = 5;

const RESET_CONNECTIONS = 10;
const RESET_BATCH = 100;

/** Every second call has only headers, because the connection's window bounds the messages. */
function callToReset(name: string, index: number): RawCall {
  return index % 2 === 0 ? acquireLock({ name, ttlMs: RESET_TTL_MS, waitMs: 0 }) : { path: ACQUIRE_LOCK };
}

/** Opens and resets calls as fast as the socket takes them, and connects again when the server ends the connection. */
async function resetRapidly(scene: AttackScene, label: string): Promise<void> {
  while (!scene.over) {
    const connection = await scene.connect();
    for (let call = 0; !scene.over && !connection.ended; await sleep(1)) {
      if (!connection.writable) continue;
      for (const end = call + RESET_BATCH; call < end; call += 1) {
        connection.call({ ...callToReset(`${label}-${call}`, call), reset: true });
      }
    }
    connection.close();
    await sleep(RECONNECT_PAUSE_MS);
  }
}

/** At full speed each connection sends far more than 10,000 resets in 20 s. */
const rapidResets: Attack = {
  name: 'rapid-resets',
  title: '10 × 10,000 and more calls that are reset in the same write',
  run: async (scene) => {
    await Promise.all(
      Array.from({ length: scene.scaled(RESET_CONNECTIONS) }, (_, index) =>
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
      const stream = connection.call(
        acquireLock({ name: scene.label, ttlMs: RESET_TTL_MS, waitMs: RESET_WAIT_MS }),
      );
      opened.push({ connection, stream, resetAt: now + RESET_AFTER_MS });
    }
    const due = opened.findIndex(({ resetAt }) => resetAt > now);
    for (const one of opened.splice(0, due < 0 ? opened.length : due)) one.connection.reset(one.stream);
  }
}

const acquiresAndResets: Attack = {
  name: 'acquire-and-reset',
  title: '3,300 acquires a second of one name, each reset after 20 ms',
  run: acquireAndReset,
};

const UNFINISHED_CONNECTIONS = 50;
const UNFINISHED_EACH = 1000;
const UNFINISHED_TTL_MS = 5000;
/** The length of a body that ends within its message. */
const PART_BYTES = 10;

/** A third of the calls has only headers, a third a part of a message, and a third a whole message without its end. */
function unfinishedCall(name: string, index: number): RawCall {
  const { body } = acquireLock({ name, ttlMs: UNFINISHED_TTL_MS, waitMs: 0 });
  const part = [undefined, body?.subarray(0, PART_BYTES), body][index % 3];
  return { path: ACQUIRE_LOCK, ...(part && { body: part }), halfClose: false };
}

const unfinishedCalls: Attack = {
  name: 'unfinished-calls',
  title: '50 × 1,000 calls that are never half-closed',
  run: async (scene) => {
    const count = scene.scaled(UNFINISHED_CONNECTIONS);
    const calls = Array.from({ length: count * UNFINISHED_EACH }, (_, index) =>
      unfinishedCall(`${scene.label}-${index}`, index),
    );
    await sendAtOnce(scene, count, calls);
  },
};

const UNREAD_CONNECTIONS = 40;
const UNREAD_EACH = 1000;
const UNREAD_TTL_MS = 30_000;

/** Half of the connections keep the window of every answer closed. The other half never reads the socket. */
const unreadAnswers: Attack = {
  name: 'unread-answers',
  title: '40 × 1,000 calls with answers that are never read',
  run: async (scene) => {
    const count = scene.scaled(UNREAD_CONNECTIONS);
    const calls = Array.from({ length: count * UNREAD_EACH }, (_, index) =>
      acquireLock({ name: `${scene.label}-${index}`, ttlMs: UNREAD_TTL_MS, waitMs: 0 }),
    );
    const reads = (index: number) => (index % 2 === 0 ? 'no-messages' : 'nothing');
    await sendAtOnce(scene, count, calls, reads);
  },
};

const WAITER_CONNECTIONS = 40;
/** The quota of waiting unary calls on a connection. */
const WAITERS_EACH = 500;
const WAITER_TTL_MS = 2000;
const WAITER_WAIT_MS = 120_000;

/**
 * Sends all waiters at once. Nobody releases, so that each lease expires and the next waiter is granted. At the end of
 * the attack all remaining waiters vanish at once.
 */
async function arriveAtOnce(scene: AttackScene, nameOf: (waiter: number) => string): Promise<void> {
  const count = scene.scaled(WAITER_CONNECTIONS);
  const calls = Array.from({ length: count * WAITERS_EACH }, (_, waiter) =>
    acquireLock({ name: nameOf(waiter), ttlMs: WAITER_TTL_MS, waitMs: WAITER_WAIT_MS }),
  );
  await sendAtOnce(scene, count, calls);
}

const waitersOfOneName: Attack = {
  name: 'waiters-one-name',
  title: '20,000 waiters at once for one name, on 40 connections',
  run: (scene) => arriveAtOnce(scene, () => scene.label),
};

const WAITED_NAMES = 1000;

const waitersOfManyNames: Attack = {
  name: 'waiters-many-names',
  title: '20,000 waiters at once for 1,000 names, on 40 connections',
  run: (scene) => arriveAtOnce(scene, (waiter) => `${scene.label}-${waiter % WAITED_NAMES}`),
};

const OUTSTANDING = 5000;
const TRIED_NAMES = 2000;

function tryRandomName({ label, tryOnceTtlMs: ttlMs }: AttackScene): RawCall {
  return acquireLock({ name: `${label}-${Math.floor(Math.random() * TRIED_NAMES)}`, ttlMs, waitMs: 0 });
}

const tryOnce: Attack = {
  name: 'try-once',
  title: '5,000 AcquireLock without a wait, kept outstanding on one connection',
  run: (scene) => keepOutstanding(scene, 1, scene.scaled(OUTSTANDING), () => tryRandomName(scene)),
};

const tryOnceSpread: Attack = {
  name: 'try-once-spread',
  title: 'the same 5,000 calls over 10 connections',
  run: (scene) => keepOutstanding(scene, 10, scene.scaled(OUTSTANDING), () => tryRandomName(scene)),
};

export const attacks: readonly Attack[] = [
  tryOnce,
  tryOnceSpread,
  waitersOfOneName,
  waitersOfManyNames,
  rapidResets,
  acquiresAndResets,
  unreadAnswers,
  unfinishedCalls,
  unprovenCalls,
  forgedTokens,
  forbiddenCalls,
  openStreams,
];

export { openFloods };
