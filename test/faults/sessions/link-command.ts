import type { SessionEvent } from '../../../generated/typescript/holdfast/v1/session_service';
import type { Ending } from '../../support/clients/calls';
import type { Micros } from '../../support/history';

export type Event = NonNullable<SessionEvent['event']>;
export type EventValue<Kind extends Event['$case']> = Extract<Event, { $case: Kind }>['value'];

/** The receipt of a response, and the heartbeat from which its offsets count. */
export interface Told {
  readonly at: Micros;
  /** The time before the send of the heartbeat. */
  readonly t0: Micros;
  readonly heartbeat: number;
}

/** A command in one session. */
export interface LinkCommand {
  /** True: no event about the command or its lease may follow. */
  readonly isFinished: boolean;
  /** Handles an event. Returns what is wrong if the contract forbids the event. */
  receive(event: Event, told: Told): string | undefined;
  renewed(expireOffsetUs: Micros, ttlUs: Micros | undefined, told: Told): void;
  /** The session has ended before the last event. */
  linkEnded(ending: Pick<Ending, 'code' | 'reason'>): void;
}
