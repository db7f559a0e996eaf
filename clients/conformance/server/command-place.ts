import type { SessionEvent } from '../../../generated/typescript/holdfast/v1/session_service';
import { Timestamp } from '../../../generated/typescript/google/protobuf/timestamp';
import { Holder } from '../../../generated/typescript/holdfast/v1/lease';
import type { Holding, Place } from './resource';
import type { SessionOutput } from './session-output';
import { commandFailed, type StatusSpec } from './status-spec';

/** What a command asks of its session. */
export interface PlaceSession {
  readonly clientId: string;
  readonly number: number;
  readonly output: SessionOutput;
  /** A lease is held in this session now. */
  heldHere(place: CommandPlace, held: Holding): void;
}

/** One command of a session, and its lease. */
export class CommandPlace implements Place {
  /** True: the answers are lost. */
  isMute = false;
  name: string | undefined;
  held: Holding | undefined;

  constructor(
    readonly commandId: bigint,
    private readonly session: PlaceSession,
  ) {}

  get clientId(): string {
    return this.session.clientId;
  }

  get sessionNumber(): number {
    return this.session.number;
  }

  queued(position: number, waiterCount: number, holder: Holding | undefined): void {
    this.send({ $case: 'queued', value: { position, waiterCount, holder: holder && holderOf(holder) } });
  }

  granted(held: Holding): void {
    this.held = held;
    this.session.heldHere(this, held);
    if (!this.isMute) this.session.output.granted(this.commandId, held);
  }

  failed(status: StatusSpec): void {
    this.send({ $case: 'failed', value: commandFailed(status) });
  }

  cancelled(): void {
    this.send({ $case: 'cancelled', value: {} });
  }

  ended(cause: string | number): void {
    this.session.output.ended(this.commandId, cause);
  }

  send(event: NonNullable<SessionEvent['event']>): void {
    const { commandId } = this;
    if (!this.isMute) this.session.output.event(() => ({ commandId, event }));
  }
}

export function holderOf({ wanted, token }: Holding): Holder {
  const now = Timestamp.create({ seconds: BigInt(Math.floor(Date.now() / 1000)) });
  return Holder.create({
    ...{ holderId: wanted.holderId, metadata: new Map(wanted.metadata), fencingToken: token },
    ...{ permitCount: wanted.permits, mode: wanted.shared ? 2 : 1, acquireTime: now, expireTime: now },
  });
}
