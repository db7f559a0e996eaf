import { status } from '@grpc/grpc-js';
import type { CommandFailed } from '../../../generated/typescript/holdfast/v1/session_service';
import type { Ending } from '../../support/clients/calls';
import { causeOf } from '../held';
import type { Event, LinkCommand, Told } from './link-command';
import type { SessionRecord } from './session-record';

/** Reasons after which a command may have been carried out, or was not carried out for now. */
export const NO_ANSWER = 'NO_ANSWER';

/** A release or update command in one session. */
export abstract class ShortCommand implements LinkCommand {
  isFinished = false;
  private readonly call: string;

  /** @param answered called once: with the reason of the failure, if the command failed, or with NO_ANSWER */
  constructor(
    protected readonly record: SessionRecord,
    protected readonly lease: string,
    private readonly answer: 'released' | 'updated',
    private readonly answered: (failure: string | undefined) => void,
  ) {
    this.call = record.newCall();
  }

  receive(event: Event, told: Told): string | undefined {
    if (event.$case !== this.answer && event.$case !== 'failed')
      return `${event.$case} must not follow in ${this.call}, which is no acquire`;
    this.isFinished = true;
    if (event.$case === 'failed') this.failed(event.value, told);
    else this.done(event, told);
    this.answered(event.$case === 'failed' ? event.value.reasonText : undefined);
    return undefined;
  }

  renewed(): void {
    // A renewal of a command without a lease is skipped.
  }

  linkEnded({ code, reason }: Pick<Ending, 'code' | 'reason'>): void {
    this.isFinished = true;
    this.record.ended(this.call, code, reason ?? null);
    this.answered(NO_ANSWER);
  }

  protected abstract done(event: Event, told: Told): void;

  protected get ofCall(): { client: string; call: string } {
    return this.record.ofCall(this.call);
  }

  private failed({ code, reasonText }: CommandFailed, { at }: Told): void {
    this.record.ended(this.call, status[code] ?? String(code), reasonText, at);
  }
}

export class ReleaseCommand extends ShortCommand {
  constructor(record: SessionRecord, lease: string, answered: (failure: string | undefined) => void) {
    super(record, lease, 'released', answered);
    record.write({ type: 'release_asked', ...this.ofCall, lease });
  }

  protected done(event: Event, { at }: Told): void {
    if (event.$case !== 'released') return;
    const { released } = event.value;
    const lossCause = released ? null : causeOf(event.value.lossCause);
    const { record, lease } = this;
    record.write({ type: 'release_answered', ...this.ofCall, lease, released, lossCause }, at);
  }
}

export class UpdateCommand extends ShortCommand {
  constructor(record: SessionRecord, lease: string, answered: (failure: string | undefined) => void) {
    super(record, lease, 'updated', answered);
  }

  protected done(): void {
    // The metadata of a lease is no event of the history.
  }
}
