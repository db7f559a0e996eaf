import { errorOfCommand, type HoldfastError } from '../errors';
import { NUMBERS } from '../numbers';
import { checkedMetadata } from '../texts';
import type { Lease, MetadataChange } from './lease';
import type { CommandOwner, Event, OpenSession, Receipt } from './open-session';

export interface UpdateKeeper {
  /** Repeats the update after a pause. False: the error is final. */
  repeatUpdate(task: UpdateTask, error: HoldfastError, session: OpenSession): boolean;
  /** The error of a command without an answer. */
  noAnswer(what: string, last?: HoldfastError): HoldfastError;
}

/**
 * One update of metadata. Repeated after each attach, because a `lease_number` is valid in one session only, and given up
 * after the time of a call, in which the wait for the turn counts.
 */
export class UpdateTask implements CommandOwner {
  readonly promise: Promise<void>;
  attempts = 0;
  lastError: HoldfastError | undefined;
  private settle!: { resolve: () => void; reject: (error: Error) => void };
  private readonly timer: NodeJS.Timeout;
  /** Undefined before the turn. */
  private metadata: ReadonlyMap<string, string> | undefined;

  constructor(
    readonly lease: Lease,
    private readonly change: MetadataChange,
    private readonly keeper: UpdateKeeper,
  ) {
    this.promise = new Promise((resolve, reject) => (this.settle = { resolve, reject }));
    const text = `no server answered the update of ${JSON.stringify(lease.name)} in time`;
    const late = () => this.reject(keeper.noAnswer(text, this.lastError));
    this.timer = setTimeout(late, NUMBERS.limits.callMs);
  }

  /** The turn of the update has come. */
  begin(): void {
    try {
      this.metadata = checkedMetadata(this.change(this.lease.shown));
    } catch (error) {
      return this.reject(error as Error);
    }
    this.place();
  }

  /** Sends the update if the lease is in a session. Otherwise the answer to the attach sends it. */
  place(): void {
    const { home, number } = this.lease;
    if (home === undefined || number === undefined) return;
    const metadataUpdate = { entries: new Map(this.metadata) };
    home.run({ $case: 'update', value: { leaseNumber: BigInt(number), metadataUpdate } }, this);
  }

  reject(error: Error): void {
    this.end();
    this.settle.reject(error);
  }

  event(event: Event, _: Receipt, session: OpenSession): void {
    if (this.lease.updates[0] !== this) return;
    if (event.$case === 'updated') {
      this.lease.shown = this.metadata ?? this.lease.shown;
      this.end();
      this.settle.resolve();
    } else if (event.$case === 'failed' && this.lease.home === session) {
      const error = errorOfCommand(event.value);
      if (!this.keeper.repeatUpdate(this, error, session)) this.reject(error);
    }
  }

  private end(): void {
    clearTimeout(this.timer);
    const { updates } = this.lease;
    const place = updates.indexOf(this);
    if (place >= 0) updates.splice(place, 1);
    if (place === 0) updates[0]?.begin();
  }
}
