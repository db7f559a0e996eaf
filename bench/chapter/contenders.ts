import { basicSemaphore } from './basic-semaphore';
import type { Contender, Place } from './contender';
import { expiringKeysSemaphore } from './expiring-keys-semaphore';
import { fairSemaphore, lockedSemaphore } from './fair-semaphore';
import { delTakeOverLock, getsetTakeOverLock } from './getset-lock';
import { holdfastLock, holdfastSemaphore } from './holdfast';
import { redisSemaphore, redlock } from './packages';
import { polling } from './polling';
import { setNxPxLock } from './set-nx-px-lock';
import { setnxExpireLock } from './setnx-expire-lock';
import { setnxLock } from './setnx-lock';

type Make = (place: Place) => Contender;

export const semaphores = {
  'basic, time stamps': polling(basicSemaphore),
  'fair, counter': polling(fairSemaphore),
  'correct, fair with a lock': polling(lockedSemaphore),
  'counter, expiring keys': polling(expiringKeysSemaphore),
  'redis-semaphore Semaphore': redisSemaphore('semaphore'),
  'Holdfast semaphore': holdfastSemaphore,
} satisfies Record<string, Make>;

export const locks = {
  SETNX: polling(setnxLock),
  'SETNX + EXPIRE': polling(setnxExpireLock),
  'DEL + SETNX take-over': polling(delTakeOverLock),
  'GETSET take-over': polling(getsetTakeOverLock),
  'SET NX PX': polling(setNxPxLock),
  'redis-semaphore Mutex': redisSemaphore('mutex'),
  redlock,
  'Holdfast lock': holdfastLock,
} satisfies Record<string, Make>;

export type SemaphoreName = keyof typeof semaphores;
export type LockName = keyof typeof locks;
export type ContenderName = SemaphoreName | LockName;

export function makeContender(name: ContenderName, place: Place): Contender {
  return { ...semaphores, ...locks }[name](place);
}
