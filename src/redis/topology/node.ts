import type { Quarantine, StoreHealth, StoreOperations } from '../../base/store-state';
import { RedisConnection, type ConnectionOptions } from '../connection';
import { epochScripts } from '../epochs/scripts';
import { Epochs, type EpochsOptions } from '../epochs/epochs';
import { LEASE_LAYOUT } from '../buckets';

export type NodeOptions = Omit<ConnectionOptions, 'guard'> & EpochsOptions;

const CAUSES: Record<Quarantine['cause'], string> = {
  forgotten: 'the store had no data of this service: it was emptied, or it is new',
  restarted: 'the store was restarted or replaced, and may have lost its last writes',
  clock: "the store's clock was set forward, so leases seem to end early",
};

function otherLayoutText(other: number): string {
  return `the store has leases in layout ${other}, and this server reads layout ${LEASE_LAYOUT}: this server grants nothing; use a server with layout ${other}, or stop all servers of that layout and delete the epochs (docs/operations/upgrade.md)`;
}

/** One Redis that keeps leases: the connection for commands, and the epochs that guard grants. */
export class RedisNode implements StoreHealth, StoreOperations {
  readonly connection: RedisConnection;
  readonly epochs: Epochs;

  constructor(options: NodeOptions) {
    this.epochs = new Epochs(options, () => this.connection);
    const scripts = [...(options.scripts ?? []), ...epochScripts];
    const { nodeBuckets } = options;
    const anyBucket = () => (nodeBuckets ? nodeBuckets.buckets()[0]?.[0] : 0);
    this.connection = new RedisConnection({ ...options, scripts, anyBucket, guard: this.epochs });
  }

  /** Resolves when Redis answers for the first time and its epochs are known, or rejects after `timeoutMs`. */
  async ready(timeoutMs: number): Promise<void> {
    await this.connection.ready(timeoutMs);
    // A Redis that takes no writes (a replica, a full disk) does not keep the server from starting.
    await this.epochs.adopt().catch(() => undefined);
  }

  get reachable(): boolean {
    return this.connection.reachable;
  }

  get suitable(): boolean {
    return this.connection.suitable && this.epochs.otherLayout === undefined;
  }

  get warnings(): readonly string[] {
    const { quarantine } = this;
    if (this.epochs.otherLayout !== undefined) {
      return [...this.connection.warnings, otherLayoutText(this.epochs.otherLayout)];
    }
    if (!quarantine) return this.connection.warnings;
    const sentence = `${CAUSES[quarantine.cause]}: nothing is granted until every lease that a client may believe in has ended; call EndQuarantine to end the quarantine now, if no client can still believe in a lost lease`;
    return [...this.connection.warnings, sentence];
  }

  get hasLibrary(): boolean | undefined {
    return this.reachable ? this.connection.library?.state === 'loaded' : undefined;
  }

  get quarantine(): Quarantine | undefined {
    return this.epochs.quarantine;
  }

  endQuarantine(): Promise<Quarantine | undefined> {
    return this.epochs.end();
  }

  onChange(listener: () => void): void {
    this.connection.onChange(listener);
  }

  /** Whether this Redis lets this server subscribe to the hints of other servers. */
  setHints(allowed: boolean): void {
    this.connection.setHints(allowed);
  }

  close(): void {
    this.connection.close();
  }
}
