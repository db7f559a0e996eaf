import { now } from '../clock';
import { errorOfCommand, type HoldfastError } from '../errors';
import { NUMBERS } from '../numbers';
import { checkedMetadata } from '../texts';
import type { Lease, MetadataChange } from './lease';
import type { CommandOwner, Event, OpenSession, Receipt } from './open-session';

const { callMs } = NUMBERS.limits;

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
  private readonly until: number;
  /** Undefined before the turn. */
  private metadata: ReadonlyMap<string, string> | undefined;

  constructor(
    readonly lease: Lease,
    private readonly change: MetadataChange,
    private readonly keeper: UpdateKeeper,
  ) {
    this.promise = new Promise((resolve, reject) => (this.settle = { resolve, reject }));
    this.timer = setTimeout(() => this.reject(this.noAnswer()), callMs);
    // A timer of Node may be early by a millisecond.
    this.until = now() + callMs - 1;
  }

  /** The turn of the update has come. Gives the error if the update is late, or if no message can have it. */
  begin(): Error | undefined {
    if (now() >= this.until) return this.noAnswer();
    try {
      this.metadata = checkedMetadata(this.change(this.lease.shown));
    } catch (error) {
      return error as Error;
    }
    this.place();
    return undefined;
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

  private noAnswer(): HoldfastError {
    const text = `no server answered the update of ${JSON.stringify(this.lease.name)} in time`;
    return this.keeper.noAnswer(text, this.lastError);
  }

  private end(): void {
    clearTimeout(this.timer);
    const { updates } = this.lease;
    const place = updates.indexOf(this);
    if (place >= 0) updates.splice(place, 1);
    if (place === 0) beginFirst(this.lease);
  }
}

/** Begins the first update that can be sent. */
export function beginFirst({ updates }: Lease): void {
  for (let [first] = updates; first; [first] = updates) {
    const error = first.begin();
    if (error === undefined) return;
    updates.shift();
    first.reject(error);
  }
}
