import type { Attack, AttackScene } from './attack';
import { acquireLock, keepOutstanding } from './attack';
import type { RawCall } from './frame-connection';

const OUTSTANDING = 5000;
const NAMES = 2000;

function tryRandomName({ label, tryOnceTtlMs: ttlMs }: AttackScene): RawCall {
  return acquireLock({ name: `${label}-${Math.floor(Math.random() * NAMES)}`, ttlMs, waitMs: 0 });
}

export const tryOnce: Attack = {
  name: 'try-once',
  title: '5,000 AcquireLock without a wait, kept outstanding on one connection',
  run: (scene) => keepOutstanding(scene, 1, scene.scaled(OUTSTANDING), () => tryRandomName(scene)),
};

export const tryOnceSpread: Attack = {
  name: 'try-once-spread',
  title: 'the same 5,000 calls over 10 connections',
  run: (scene) => keepOutstanding(scene, 10, scene.scaled(OUTSTANDING), () => tryRandomName(scene)),
};
