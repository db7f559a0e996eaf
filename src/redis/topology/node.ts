import type { Quarantine, StoreHealth, StoreOperations } from '../../engine/store-health';
import { RedisConnection, type ConnectionOptions } from '../connection/connection';
import { Epochs, epochScripts, type EpochsOptions } from '../epochs/epochs';

export type NodeOptions = Omit<ConnectionOptions, 'witness'> & EpochsOptions;

const CAUSES: Record<Quarantine['cause'], string> = {
  forgotten: 'the store knew nothing of this service, as one does that was emptied or is new',
  restarted: 'the store was restarted or replaced and may have lost its last writes',
  clock: 'the clock of the store was set forward, so that leases seem to end early',
};

/** One Redis that keeps leases: the connection that commands go through, and what guards grants there. */
export class RedisNode implements StoreHealth, StoreOperations {
  readonly connection: RedisConnection;
  readonly epochs: Epochs;

  constructor(options: NodeOptions) {
    this.epochs = new Epochs(options, () => this.connection);
    const scripts = [...(options.scripts ?? []), ...epochScripts];
    this.connection = new RedisConnection({ ...options, scripts, witness: this.epochs });
  }

  /** Resolves when Redis answers for the first time and its epochs are known, or rejects after `timeoutMs`. */
  async ready(timeoutMs: number): Promise<void> {
    await this.connection.ready(timeoutMs);
    // One that takes no writes (it is a replica, its disk is full) is waited for when the server runs.
    await this.epochs.adopt().catch(() => undefined);
  }

  get reachable(): boolean {
    return this.connection.reachable;
  }

  get suitable(): boolean {
    return this.connection.suitable;
  }

  get warnings(): readonly string[] {
    const { quarantine } = this;
    if (!quarantine) return this.connection.warnings;
    const sentence = `${CAUSES[quarantine.cause]}: nothing is granted until every lease that may be believed has ended; EndQuarantine ends that at your own risk`;
    return [...this.connection.warnings, sentence];
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

  /** Whether this Redis lets us hear of what other servers do. */
  setHints(allowed: boolean): void {
    this.connection.setHints(allowed);
  }

  close(): void {
    this.connection.close();
  }
}
