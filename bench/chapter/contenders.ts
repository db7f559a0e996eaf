import { BasicSemaphore } from './basic-semaphore';
import type { Contender, Place } from './contender';
import { ExpiringKeysSemaphore } from './expiring-keys-semaphore';
import { FairSemaphore } from './fair-semaphore';
import { DelTakeOverLock, GetsetTakeOverLock } from './getset-lock';
import { holdfastLock, holdfastSemaphore } from './holdfast';
import { LockedSemaphore } from './locked-semaphore';
import { RedisSemaphorePackage } from './redis-semaphore-package';
import { RedlockPackage } from './redlock-package';
import { SetNxPxLock } from './set-nx-px-lock';
import { SetnxExpireLock } from './setnx-expire-lock';
import { SetnxLock } from './setnx-lock';

type Make = (place: Place) => Contender;

export const semaphores = {
  'basic, time stamps': (place) => new BasicSemaphore(place),
  'fair, counter': (place) => new FairSemaphore(place),
  'correct, fair with a lock': (place) => new LockedSemaphore(place),
  'counter, expiring keys': (place) => new ExpiringKeysSemaphore(place),
  'redis-semaphore Semaphore': (place) => new RedisSemaphorePackage(place, 'semaphore'),
  'Holdfast semaphore': holdfastSemaphore,
} satisfies Record<string, Make>;

export const locks = {
  SETNX: (place) => new SetnxLock(place),
  'SETNX + EXPIRE': (place) => new SetnxExpireLock(place),
  'DEL + SETNX take-over': (place) => new DelTakeOverLock(place),
  'GETSET take-over': (place) => new GetsetTakeOverLock(place),
  'SET NX PX': (place) => new SetNxPxLock(place),
  'redis-semaphore Mutex': (place) => new RedisSemaphorePackage(place, 'mutex'),
  redlock: (place) => new RedlockPackage(place),
  'Holdfast lock': holdfastLock,
} satisfies Record<string, Make>;

export type SemaphoreName = keyof typeof semaphores;
export type LockName = keyof typeof locks;
export type ContenderName = SemaphoreName | LockName;

export function makeContender(name: ContenderName, place: Place): Contender {
  return { ...semaphores, ...locks }[name](place);
}
