import type { Redis } from 'ioredis';

/** A connection for code that cannot be paused inside: what it sends, and what it hears, may be late. */
export function slowCommands(redis: Redis, pause: () => Promise<void>): Redis {
  return new Proxy(redis, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]): Promise<unknown> => {
        await pause();
        // The worker has gone home, and a refresh of the package's was late.
        if (target.status === 'end') return new Promise(() => undefined);
        const reply: unknown = await Reflect.apply(value, target, args);
        await pause();
        return reply;
      };
    },
  });
}
