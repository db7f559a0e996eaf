import { AllowedPlaces } from '../../src/access/prefixes';
import { type Account, NO_QUOTAS, type Quotas } from '../../src/base/accounts';
import type { StreamCall } from '../../src/base/call';
import type { Clock } from '../../src/base/clock';
import type { Log } from '../../src/base/log';
import type { ReadableNames } from '../../src/base/names';
import type { HoldEvent, ResourceView } from '../../src/leases/lease';
import type { AcquireRequest, HoldSink, WatchSink } from '../../src/leases/lease-requests';

/** A log that nobody reads. */
export const NO_LOG: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** The readable names by a condition. No name is passed over. */
export const namesWhere = (mayRead: (name: string) => boolean): ReadableNames => ({
  mayRead,
  nextReadable: (name) => name,
});

/** The names with this prefix are readable. */
export function namesUnder(prefix: string): ReadableNames {
  const places = new AllowedPlaces([{ prefix, isAllowed: true, isAllowedAround: false }]);
  return { mayRead: (name) => name.startsWith(prefix), nextReadable: (name) => places.next(name) };
}

export interface FakeCallOptions {
  readonly identity?: string;
  readonly account?: Account;
  readonly quotas?: Quotas;
  readonly hidesHolders?: boolean;
  readonly timeoutMs?: number;
  readonly connection?: object;
  readonly transportRetry?: boolean;
}

/** A call in the form in which the transport passes calls to the engine. */
export class FakeCall implements StreamCall {
  readonly receivedAt: number;
  readonly timeoutMs: number | undefined;
  readonly connection: object;
  readonly transportRetry: boolean;
  readonly identity: string;
  readonly account: Account | undefined;
  readonly quotas: Quotas;
  hidesHolders: boolean;
  cancelled = false;
  private readonly listeners: (() => void)[] = [];

  constructor(clock: Clock, options: FakeCallOptions = {}) {
    this.receivedAt = clock.now();
    this.timeoutMs = options.timeoutMs;
    this.connection = options.connection ?? {};
    this.transportRetry = options.transportRetry ?? false;
    this.identity = options.identity ?? '';
    this.account = options.account;
    this.quotas = options.quotas ?? options.account?.quotas ?? NO_QUOTAS;
    this.hidesHolders = options.hidesHolders ?? false;
  }

  onCancelled(listener: () => void): void {
    if (this.cancelled) listener();
    else this.listeners.push(listener);
  }

  onNotAllowed(listener: () => void): void {
    this.refuse = listener;
  }

  /** Acts as a new policy that no longer allows the call. */
  refuse: () => void = () => this.cancel();

  cancel(): void {
    this.cancelled = true;
    for (const listener of this.listeners.splice(0)) listener();
  }
}

/** Records a stream's events with their times. */
export class RecordedSink implements HoldSink {
  readonly events: (HoldEvent & { readonly at: number })[] = [];

  constructor(private readonly clock: Clock) {}

  send(event: HoldEvent): void {
    this.events.push({ ...event, at: this.clock.now() });
  }

  get kinds(): HoldEvent['kind'][] {
    return this.events.map(({ kind }) => kind);
  }

  /** The last event. Throws if the event is of another kind. */
  last<K extends HoldEvent['kind']>(kind: K): Extract<HoldEvent, { kind: K }> & { readonly at: number } {
    const event = this.events[this.events.length - 1];
    if (event?.kind !== kind) throw new Error(`the last event is ${event?.kind ?? 'none'}, not ${kind}`);
    return event as Extract<HoldEvent, { kind: K }> & { readonly at: number };
  }
}

/** Records the views of a watch stream. */
export class RecordedViews implements WatchSink {
  readonly views: ResourceView[] = [];

  send(view: ResourceView): void {
    this.views.push(view);
  }

  /** The last view. Throws if there is none. */
  get last(): ResourceView {
    const view = this.views[this.views.length - 1];
    if (view === undefined) throw new Error('the watch has got no view');
    return view;
  }
}

export const ALICE = '0190a0a0-0000-7000-8000-00000000a11c';

/** An acquire in the form in which the transport passes acquires to the engine. Default: no wait_timeout. */
export function acquireRequest<Values extends Partial<AcquireRequest>>(values: Values) {
  return {
    name: 'hello',
    requestId: ALICE as string,
    mode: 'exclusive' as const,
    permitCount: 1,
    holderId: 'alice',
    metadata: {},
    initialLimit: undefined,
    ttlMs: 30_000,
    waitTimeoutMs: undefined as number | undefined,
    ...values,
  };
}
