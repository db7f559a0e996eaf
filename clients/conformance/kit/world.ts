import type { Records } from '../server/records';
import type { Holding } from '../server/resource';
import type { Step } from './case-file';

/** The servers of one case. */
export interface World {
  readonly records: Records;
  /** All lease ids that the servers have given. */
  readonly leaseIds: ReadonlySet<string>;
  /** The address of a server, or a name of the DNS with its port. */
  address(server: string): string;
  /** A granted lease. Undefined: the servers do not say. */
  lease(name: string, token: string): Holding | undefined;
  /** Carries out a step of a server. False: the step is none of a server. */
  run(step: Step, waitFor: WaitFor): Promise<boolean>;
  close(): Promise<void>;
}

/** Waits for a condition, at most `withinMs`. */
export type WaitFor = <T>(what: string, condition: () => T | undefined, withinMs: number) => Promise<T>;
