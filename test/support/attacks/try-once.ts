import type { Attack, AttackScene } from './attack';
import { acquireLock } from './attack';

const OUTSTANDING = 5000;
const NAMES = 2000;

/** Keeps a number of AcquireLock calls without a wait outstanding on one connection: each answer is followed by a call. */
async function keepOutstanding(scene: AttackScene, calls: number): Promise<void> {
  while (!scene.over) {
    let ended = (): void => undefined;
    const end = new Promise<void>((resolve) => (ended = resolve));
    const call = (): void => {
      const name = `${scene.label}-${Math.floor(Math.random() * NAMES)}`;
      connection.call(acquireLock({ name, ttlMs: scene.tryOnceTtlMs, waitMs: 0 }));
    };
    const connection = await scene.connect({
      onOutcome: () => {
        if (!connection.ended && !scene.over) call();
      },
      onEnd: () => ended(),
    });
    for (let count = 0; count < calls; count += 1) call();
    scene.allSent();
    await Promise.race([end, scene.rest()]);
    connection.close();
  }
}

export const tryOnce: Attack = {
  name: 'try-once',
  title: '5,000 AcquireLock without a wait, kept outstanding on one connection',
  run: (scene) => keepOutstanding(scene, scene.scaled(OUTSTANDING)),
};

const CONNECTIONS = 10;

export const tryOnceSpread: Attack = {
  name: 'try-once-spread',
  title: 'the same 5,000 calls over 10 connections',
  run: async (scene) => {
    const each = scene.scaled(OUTSTANDING / CONNECTIONS);
    await Promise.all(Array.from({ length: CONNECTIONS }, () => keepOutstanding(scene, each)));
  },
};
