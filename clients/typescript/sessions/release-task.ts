import { errorOfCommand, type HoldfastError } from '../errors';
import type { ReleaseAnswer } from './lease';
import { causeOfAnswer } from './loss-causes';
import type { CommandOwner, Event, OpenSession, Receipt } from './open-session';

export interface ReleaseKeeper {
  answered(task: ReleaseTask): void;
  /** Repeats the release after a pause. False: the error is final. */
  repeat(task: ReleaseTask, error: HoldfastError, session: OpenSession): boolean;
  /** The error of a command without an answer. */
  noAnswer(what: string, last?: HoldfastError): HoldfastError;
}

/**
 * One release, by `lease_id`. Repeated in each next session until the answer comes, or until the lease has ended by its
 * ttl, so that nobody needs the release any more.
 */
export class ReleaseTask implements CommandOwner {
  readonly promise: Promise<ReleaseAnswer>;
  home: OpenSession | undefined;
  attempts = 0;
  lastError: HoldfastError | undefined;
  private settle!: { resolve: (answer: ReleaseAnswer) => void; reject: (error: Error) => void };
  private readonly timer: NodeJS.Timeout;

  /** @param untilMs the time until the lease has surely ended */
  constructor(
    readonly leaseId: string,
    untilMs: number,
    private readonly keeper: ReleaseKeeper,
  ) {
    this.promise = new Promise((resolve, reject) => (this.settle = { resolve, reject }));
    // Nobody waits for the release of a late grant.
    this.promise.catch(() => undefined);
    const late = () => this.fail(keeper.noAnswer('no server answered the release in time', this.lastError));
    this.timer = setTimeout(late, untilMs);
  }

  place(session: OpenSession): void {
    this.home = session;
    session.run({ $case: 'release', value: { lease: { $case: 'leaseId', value: this.leaseId } } }, this);
  }

  fail(error: HoldfastError): void {
    clearTimeout(this.timer);
    this.settle.reject(error);
    this.keeper.answered(this);
  }

  event(event: Event, _: Receipt, session: OpenSession): void {
    if (event.$case === 'released') {
      clearTimeout(this.timer);
      const { released, lossCause } = event.value;
      this.settle.resolve({ released, lossCause: causeOfAnswer(lossCause) });
      this.keeper.answered(this);
    } else if (event.$case === 'failed' && this.home === session) {
      const error = errorOfCommand(event.value);
      if (!this.keeper.repeat(this, error, session)) this.fail(error);
    }
  }
}
