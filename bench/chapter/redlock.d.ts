/** The used types of the package. The compiler does not find the package's own types in its `exports`. */
declare module 'redlock' {
  import type { Redis } from 'ioredis';

  export class ExecutionError extends Error {}

  export interface Lock {
    /** The end of the lock, on the clock of `Date.now()`. */
    readonly expiration: number;
    release(): Promise<unknown>;
  }

  export interface Settings {
    readonly retryCount: number;
  }

  export default class Redlock {
    constructor(clients: Iterable<Redis>, settings?: Partial<Settings>);
    acquire(resources: string[], duration: number, settings?: Partial<Settings>): Promise<Lock>;
    release(lock: Lock, settings?: Partial<Settings>): Promise<unknown>;
  }
}
