import type { NodeReport } from './node-report';
import type { ReplicaConfirmations } from './replica-confirmations';

/** The Redis that answered a command, as it was known just before the command was sent. */
export class AnsweringNode {
  constructor(
    readonly report: NodeReport,
    private readonly confirmations: ReplicaConfirmations,
    private readonly commandTimeoutMs: number,
  ) {}

  /**
   * Resolves when as many replicas as this Redis asks for have the change that this Redis answered, and all its earlier
   * writes. Rejects with an `unconfirmed` failure at the command timeout. Resolves immediately if Redis asks for none.
   *
   * @param key A key of the change.
   * @param sentAt When the change was sent (ms, monotonic clock).
   */
  confirm(key: string, sentAt: number): Promise<void> {
    const { runId, confirmingReplicas: replicaCount } = this.report;
    if (replicaCount === 0) return Promise.resolve();
    return this.confirmations.confirm({ runId, replicaCount, key, deadline: sentAt + this.commandTimeoutMs });
  }
}
