/** As much of the package's types as is used: its own are not found by a compiler that reads its `exports`. */
declare module 'redlock' {
  import type { Redis } from 'ioredis';

  export class ExecutionError extends Error {}

  export interface Lock {
    /** By `Date.now()`. */
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
