import { endingOf } from '../support/clients/calls';
import { SemaphoreClient } from '../support/clients/lease-client';
import type { Recorder } from '../support/history-recorder';
import type { Member } from './fleet';
import { CallEnded } from './held';
import { retryElsewhere } from './retries';

/** The reasons of the failed attempts before the answer. */
type FailedAttempts = readonly string[];

let changeCount = 0;

/**
 * Sets limits, deletes semaphores, and records both. After UNAVAILABLE the operator repeats the same call at another
 * server. The history shows all attempts as one change.
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

  async setLimit(name: string, limit: number, expectedLimit?: number): Promise<FailedAttempts> {
    changeCount += 1;
    const change = `change ${changeCount}`;
    this.recorder.record({ type: 'limit_asked', change, name, limit });
    const failed: string[] = [];
    try {
      await this.repeat(failed, (client) => client.setLimit(name, limit, expectedLimit));
    } catch (error) {
      // Only a refusal of the first attempt proves that nothing was changed.
      if (failed.length === 1) this.recorder.record({ type: 'limit_answered', change, done: false });
      throw error;
    }
    this.recorder.record({ type: 'limit_answered', change, done: true });
    return failed;
  }

  /** With `force` each attempt frees the leases that are held at that time. */
  async delete(name: string, force: boolean): Promise<FailedAttempts> {
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
    return retryElsewhere(this, this.fallback, async () => {
      const client = this.clients.at(-1);
      if (client === undefined) throw new Error('the operator has no connection');
      return send(client).catch((error: unknown) => {
        const ending = endingOf(error);
        failed.push(ending.reason ?? ending.code);
        throw new CallEnded(ending);
      });
    });
  }
}
