import type { Yardstick } from '../support/yardsticks';
import type { ProgramName } from './programs';
import type { StoreName } from './stores';

/** A system with locks, as the row `peers` compares it. */
export interface LockSystem extends Yardstick<LockAbility> {
  /** The program that makes load, and its name of the system. */
  readonly program: ProgramName;
  readonly store: StoreName;
  /** Whether an acquire is one SET NX PX. Waiters then poll, and nobody knows their order. */
  readonly isSetNxPx: boolean;
}

type LockAbility =
  | 'order of waiters'
  | 'a waiter learns of a release'
  | 'fencing token'
  | 'a holder learns of its loss'
  | "a dead holder's lock";

const ENDS_BY_TTL = 'ends by TTL';

/** Waiters poll with the library's default interval, or with the interval of its examples. */
function polling(interval: string, loss: string, program: ProgramName): Omit<LockSystem, 'title'> {
  return {
    program,
    store: 'redis',
    isSetNxPx: true,
    abilities: {
      'order of waiters': 'none',
      'a waiter learns of a release': `polls every ${interval}`,
      'fencing token': 'none',
      'a holder learns of its loss': loss,
      "a dead holder's lock": ENDS_BY_TTL,
    },
  };
}

function redisson(fair: boolean): Omit<LockSystem, 'title'> {
  return {
    program: 'java',
    store: 'redis',
    isSetNxPx: false,
    abilities: {
      'order of waiters': fair ? 'first come' : 'none',
      'a waiter learns of a release': 'by pub/sub',
      'fencing token': fair ? 'none' : 'none; RFencedLock has',
      'a holder learns of its loss': 'asks Redis',
      "a dead holder's lock": ENDS_BY_TTL,
    },
  };
}

function holdfast(client: string, loss: string, program: ProgramName): LockSystem {
  return {
    title: client === '' ? 'Holdfast' : `Holdfast, ${client}`,
    program,
    store: 'holdfast',
    isSetNxPx: false,
    abilities: {
      'order of waiters': 'first come',
      'a waiter learns of a release': 'by the answer of its call',
      'fencing token': 'yes',
      'a holder learns of its loss': loss,
      "a dead holder's lock": ENDS_BY_TTL,
    },
  };
}

const BY_SESSION = 'by its deadline, or an event of its session';

/** The key is the name of the system on the command line of its program. The first one is compared with all others. */
export const systems = {
  holdfast: holdfast('', BY_SESSION, 'node'),
  'holdfast-go': holdfast('Go', BY_SESSION, 'go'),
  'holdfast-rust': holdfast('Rust', BY_SESSION, 'rust'),
  'holdfast-stubs': holdfast('unary stubs', 'by its deadline', 'node'),
  redisson: { title: 'Redisson RLock', ...redisson(false) },
  'redisson-fair': { title: 'Redisson RFairLock', ...redisson(true) },
  curator: {
    title: 'Curator, ZooKeeper',
    program: 'java',
    store: 'zookeeper',
    isSetNxPx: false,
    abilities: {
      'order of waiters': 'first come',
      'a waiter learns of a release': 'by a watch',
      'fencing token': 'none',
      'a holder learns of its loss': 'by an event of its session',
      "a dead holder's lock": 'ends with its session',
    },
  },
  etcd: {
    title: 'etcd Mutex',
    program: 'go',
    store: 'etcd',
    isSetNxPx: false,
    abilities: {
      'order of waiters': 'first come',
      'a waiter learns of a release': 'by a watch',
      'fencing token': 'revision',
      'a holder learns of its loss': 'by an event of its session',
      "a dead holder's lock": 'ends with its session',
    },
  },
  redislock: { title: 'redislock', ...polling('100 ms', 'asks Redis', 'go') },
  redsync: { title: 'redsync', ...polling('50 to 250 ms', 'by its deadline', 'go') },
  redlock: { title: 'redlock', ...polling('200 ± 100 ms', 'by its deadline', 'node') },
  'redis-py': { title: 'redis-py', ...polling('100 ms', 'asks Redis', 'python') },
} as const satisfies Readonly<Record<string, LockSystem>>;

export type SystemName = keyof typeof systems;
