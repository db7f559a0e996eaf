import { SessionError } from './session-error';
import type { ReleaseAnswer } from './lease';
import type { CommandOwner, Event, OpenSession, Receipt } from './open-session';

export interface ReleaseKeeper {
  answered(task: ReleaseTask): void;
  /** Repeats the release after a pause. False: the error is final. */
  repeat(task: ReleaseTask, error: SessionError, session: OpenSession): boolean;
}

/** One release, by `lease_id`. Repeated in each next session until the answer comes. */
export class ReleaseTask implements CommandOwner {
  readonly promise: Promise<ReleaseAnswer>;
  home: OpenSession | undefined;
  attempts = 0;
  private settle!: { resolve: (answer: ReleaseAnswer) => void; reject: (error: Error) => void };

  constructor(
    readonly leaseId: string,
    private readonly keeper: ReleaseKeeper,
  ) {
    this.promise = new Promise((resolve, reject) => (this.settle = { resolve, reject }));
    // Nobody waits for the release of a late grant.
    this.promise.catch(() => undefined);
  }

  place(session: OpenSession): void {
    this.home = session;
    session.run({ $case: 'release', value: { lease: { $case: 'leaseId', value: this.leaseId } } }, this);
  }

  reject(error: Error): void {
    this.settle.reject(error);
  }

  event(event: Event, _: Receipt, session: OpenSession): void {
    if (event.$case === 'released') {
      this.settle.resolve(event.value);
      this.keeper.answered(this);
    } else if (event.$case === 'failed' && this.home === session) {
      const error = SessionError.ofCommand(event.value);
      if (this.keeper.repeat(this, error, session)) return;
      this.settle.reject(error);
      this.keeper.answered(this);
    }
  }
}
