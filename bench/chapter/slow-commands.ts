import type { Redis } from 'ioredis';

/**
 * A connection that pauses before commands and after replies, because the benchmark cannot add pauses to a package's
 * code.
 */
export function slowCommands(redis: Redis, pause: () => Promise<void>): Redis {
  return new Proxy(redis, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]): Promise<unknown> => {
        await pause();
        // After the end of the worker, a late refresh of the package must not run.
        if (target.status === 'end') return new Promise(() => undefined);
        const reply: unknown = await Reflect.apply(value, target, args);
        await pause();
        return reply;
      };
    },
  });
}
