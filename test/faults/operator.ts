import { credentials } from '@grpc/grpc-js';
import {
  SemaphoreServiceClient,
  type DeleteSemaphoreResponse,
  type SetSemaphoreLimitResponse,
} from '../../generated/typescript/holdfast/v1/semaphore_service';
import { endingOf } from '../support/clients/lock-client';
import type { Recorder } from '../support/history-recorder';
import type { Member } from './fleet';
import { CallEnded } from './held';
import { OWN_CONNECTION } from '../support/clients/lease-client';
import { answerOf } from './lease-stub';
import { again } from './patience';

/** What its tries failed with before the one that was answered. */
type FailedTries = readonly string[];

let changeCount = 0;

/**
 * Sets limits and deletes semaphores, and writes that down. While nobody knows whether it was done, it repeats the
 * very same call at another server; all tries together are one change.
 */
export class Operator {
  private readonly stubs: SemaphoreServiceClient[] = [];

  constructor(
    address: string,
    private readonly fallback: Pick<Member, 'address'>,
    private readonly recorder: Recorder,
  ) {
    this.moveTo(address);
  }

  moveTo(address: string): void {
    this.stubs.push(new SemaphoreServiceClient(address, credentials.createInsecure(), OWN_CONNECTION));
  }

  async setLimit(name: string, limit: number, expectedLimit?: number): Promise<FailedTries> {
    changeCount += 1;
    const change = `change ${changeCount}`;
    this.recorder.record({ type: 'limit_asked', change, name, limit });
    const failed: string[] = [];
    try {
      await this.repeat(failed, (stub) =>
        answerOf<SetSemaphoreLimitResponse>((done) =>
          stub.setSemaphoreLimit({ name, limit, expectedLimit }, done),
        ),
      );
    } catch (error) {
      // The first answer to the only try says what is; after others it may have been done, and changed since.
      if (failed.length === 1) this.recorder.record({ type: 'limit_answered', change, done: false });
      throw error;
    }
    this.recorder.record({ type: 'limit_answered', change, done: true });
    return failed;
  }

  /** By force, each try frees what was held when it came. */
  async delete(name: string, force: boolean): Promise<FailedTries> {
    const failed: string[] = [];
    await this.repeat(failed, (stub) => {
      if (force) this.recorder.record({ type: 'revoke_asked', name, tokens: null, force });
      return answerOf<DeleteSemaphoreResponse>((done) => stub.deleteSemaphore({ name, force }, done));
    });
    return failed;
  }

  close(): void {
    for (const stub of this.stubs) stub.close();
  }

  private repeat<Answer>(
    failed: string[],
    send: (stub: SemaphoreServiceClient) => Promise<Answer>,
  ): Promise<Answer> {
    return again(this, this.fallback, async () => {
      const stub = this.stubs.at(-1);
      if (stub === undefined) throw new Error('an operator has a connection at all times');
      return send(stub).catch((error: unknown) => {
        const ending = endingOf(error);
        failed.push(ending.reason ?? ending.code);
        throw new CallEnded(ending);
      });
    });
  }
}
