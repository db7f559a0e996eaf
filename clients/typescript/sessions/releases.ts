import type { HoldfastError } from '../errors';
import { NUMBERS } from '../numbers';
import type { ReleaseAnswer } from './lease';
import type { OpenSession } from './open-session';
import { ReleaseTask, type ReleaseKeeper } from './release-task';
import type { Repeats } from './repeats';

/** The releases without an answer. */
export class Releases implements ReleaseKeeper {
  private readonly tasks = new Map<string, ReleaseTask>();
  private failure: HoldfastError | undefined;

  /**
   * @param current gives the session for new commands
   * @param onAnswer called when fewer releases wait
   * @param noAnswer the error of a release without an answer
   */
  constructor(
    private readonly repeats: Repeats,
    private readonly current: () => OpenSession | undefined,
    private readonly onAnswer: () => void,
    readonly noAnswer: ReleaseKeeper['noAnswer'],
  ) {}

  get isEmpty(): boolean {
    return this.tasks.size === 0;
  }

  moveTo(session: OpenSession): void {
    for (const task of this.tasks.values()) task.place(session);
  }

  /** A second release of the same lease has the answer of the first one. */
  add(leaseId: string, ttlMs: number): Promise<ReleaseAnswer> {
    const known = this.tasks.get(leaseId);
    if (known) return known.promise;
    if (this.failure) return Promise.reject(this.failure);
    const task = new ReleaseTask(leaseId, NUMBERS.limits.releaseIsRepeatedForTtls * ttlMs, this);
    this.tasks.set(leaseId, task);
    const session = this.current();
    if (session) task.place(session);
    return task.promise;
  }

  /** Why the last attempt of a release failed, if known. */
  lastError(leaseId: string): HoldfastError | undefined {
    return this.tasks.get(leaseId)?.lastError;
  }

  /** No next session will come. */
  fail(error: HoldfastError): void {
    this.failure = error;
    for (const task of this.tasks.values()) task.fail(error);
    this.tasks.clear();
  }

  answered(task: ReleaseTask): void {
    this.tasks.delete(task.leaseId);
    this.onAnswer();
  }

  repeat(task: ReleaseTask, error: HoldfastError, session: OpenSession): boolean {
    const again = () => task.home === session && this.tasks.has(task.leaseId) && task.place(session);
    return this.repeats.repeat(task, error, session, again);
  }
}
