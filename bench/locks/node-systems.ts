import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Redis } from 'ioredis';
import Redlock from 'redlock';
import { connect, deadline } from '../../clients/typescript';
import { readVersion } from '../../src/base/redis-address';
import { LockClient } from '../../test/support/clients/lease-client';
import { releaseHeld } from '../load/release-held';

const WAIT_MS = 3_600_000;
const WITHOUT_END = -1;

export interface Held {
  readonly token?: bigint;
  /** Whether the holder may still rely on the lock, by the library's own rule. */
  isHeld(): boolean;
  release(): Promise<unknown>;
}

/** Waits until the lock is granted. */
export type Acquire = (name: string) => Promise<Held>;

interface NodeSystem {
  open(address: string, ttlMs: number): Acquire;
  version(): string;
}

/** The package, which holds all locks of the process in one session. */
function holdfast(address: string, ttlMs: number): Acquire {
  const connected = connect(address);
  return async (name) => {
    const lease = await (await connected).lock(name, { ttl: ttlMs, wait: WAIT_MS });
    return {
      token: lease.fencingToken,
      isHeld: () => lease.isValid,
      release: () => releaseHeld({ release: () => lease.release() }, name),
    };
  };
}

/** The generated stubs, with the deadline rule of docs/guarantees.md. */
function holdfastStubs(address: string, ttlMs: number): Acquire {
  const client = new LockClient(address);
  return async (name) => {
    const askedAt = performance.now();
    const lease = await client.acquire({ name, ttlMs, waitMs: WAIT_MS });
    const until = deadline(askedAt, lease.expireOffset, lease.ttl);
    return {
      token: lease.fencingToken,
      isHeld: () => performance.now() < until,
      release: () => releaseHeld(client, lease.leaseId),
    };
  };
}

/** The package with its default delays. Its default number of tries would give up. */
function redlock(address: string, ttlMs: number): Acquire {
  const [host = '', port] = address.split(':');
  const redlock = new Redlock([new Redis(Number(port), host)], { retryCount: WITHOUT_END });
  return async (name) => {
    const lock = await redlock.acquire([name], ttlMs);
    return { isHeld: () => Date.now() < lock.expiration, release: () => redlock.release(lock) };
  };
}

function redlockVersion(): string {
  const folder = dirname(createRequire(__filename).resolve('redlock'));
  const about = readFileSync(join(folder, '..', '..', 'package.json'), 'utf8');
  return (JSON.parse(about) as { version: string }).version.replace(/^v/, '');
}

export const nodeSystems = {
  holdfast: { open: holdfast, version: readVersion },
  'holdfast-stubs': { open: holdfastStubs, version: readVersion },
  redlock: { open: redlock, version: redlockVersion },
} as const satisfies Readonly<Record<string, NodeSystem>>;

export type NodeSystemName = keyof typeof nodeSystems;
