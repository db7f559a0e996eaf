import { endingOf } from '../support/clients/call-ending';
import { SemaphoreClient } from '../support/clients/semaphore-client';
import type { Recorder } from '../support/history-recorder';
import type { Member } from './fleet';
import { CallEnded } from './held';
import { again } from './patience';

/** What its tries failed with before the one that was answered. */
type FailedTries = readonly string[];

let changeCount = 0;

/**
 * Sets limits and deletes semaphores, and writes that down. While nobody knows whether it was done, it repeats the
 * very same call at another server; all tries together are one change.
 */
export class Operator {
  private readonly clients: SemaphoreClient[] = [];

  constructor(
    address: string,
    private readonly fallback: Pick<Member, 'address'>,
    private readonly recorder: Recorder,
  ) {
    this.moveTo(address);
  }

  moveTo(address: string): void {
    this.clients.push(new SemaphoreClient(address));
  }

  async setLimit(name: string, limit: number, expectedLimit?: number): Promise<FailedTries> {
    changeCount += 1;
    const change = `change ${changeCount}`;
    this.recorder.record({ type: 'limit_asked', change, name, limit });
    const failed: string[] = [];
    try {
      await this.repeat(failed, (client) => client.setLimit(name, limit, expectedLimit));
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
    await this.repeat(failed, (client) => {
      if (force) this.recorder.record({ type: 'revoke_asked', name, tokens: null, force });
      return client.delete(name, force);
    });
    return failed;
  }

  close(): void {
    for (const client of this.clients) client.close();
  }

  private repeat<Answer>(
    failed: string[],
    send: (client: SemaphoreClient) => Promise<Answer>,
  ): Promise<Answer> {
    return again(this, this.fallback, async () => {
      const client = this.clients.at(-1);
      if (client === undefined) throw new Error('an operator has a connection at all times');
      return send(client).catch((error: unknown) => {
        const ending = endingOf(error);
        failed.push(ending.reason ?? ending.code);
        throw new CallEnded(ending);
      });
    });
  }
}
