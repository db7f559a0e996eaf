import type { Clock } from '../../base/clock';
import { StoreFailure } from '../../base/errors';
import type { ChangeSignal } from '../../flow/waiting';
import type { RedirectedOperation } from '../commands';
import type { RedisConnection } from '../connection';
import { slotOfKey } from '../buckets';
import { redirectedAddress } from './cluster-watch';

export interface ClusterRouterOptions {
  readonly commandTimeoutMs: number;
  readonly clock: Clock;
  /** Signals that a node became ready or that the map changed. */
  readonly changeSignal: ChangeSignal;
  /** The owner of a slot; undefined: the slot has no known master. */
  readonly ownerOf: (slot: number) => RedisConnection | undefined;
  /** The connection to a node, made if there is none. */
  readonly connectionTo: (address: string) => RedisConnection;
  /** Called when a node has named the owner of a slot. */
  readonly onMoved: (slot: number, address: string) => void;
  /** Called when the map may be out of date. */
  readonly onDoubt: () => void;
}

/** The pause before a command is sent again because its slot is moving or a master is being elected. */
const PAUSE_MS = 20;
/** The share of a command's time that is kept for the last reply. A later send would only make the outcome unknown. */
const REPLY_SHARE = 0.1;
/** Redirections without a pause. Later pauses prevent a busy loop between two nodes that name each other as owner. */
const REDIRECTIONS_WITHOUT_PAUSE = 3;
/** How long an operation waits for a slot to have a master. */
export const OWNER_PATIENCE_MS = 1000;

/**
 * Sends each operation to the owner of its slot. A redirected operation did not run, so the router sends it to the new
 * owner or tries again, within the operation's time.
 */
export class ClusterRouter {
  private closed = false;

  constructor(private readonly options: ClusterRouterOptions) {}

  /** Runs `use` on the owner of the key's slot, as soon as the slot has an owner. */
  withOwner<T>(key: string | undefined, use: (owner: RedisConnection) => Promise<T>): Promise<T> {
    const slot = slotOfKey(key ?? '');
    const owner = this.options.ownerOf(slot);
    return owner ? use(owner) : this.waitForOwner(slot).then(use);
  }

  /** Takes over an operation that the node at `from` redirected or did not answer. */
  redirect(redirected: RedirectedOperation, from: string): void {
    const { clock, onMoved, onDoubt, connectionTo } = this.options;
    const { operation, redirection } = redirected;
    operation.redirectCount += 1;
    const isPatient = operation.redirectCount <= REDIRECTIONS_WITHOUT_PAUSE;
    switch (redirection?.kind) {
      case 'moved':
        onMoved(redirection.slot, redirectedAddress(redirection, from));
        if (isPatient) return this.sendToOwner(redirected);
        break;
      case 'ask': {
        const target = connectionTo(redirectedAddress(redirection, from));
        if (isPatient && target.isReady) return target.commands.resume(redirected, true);
        break;
      }
      case 'try-again':
        break;
      case undefined:
        onDoubt();
        if (!redirected.from.isReady) return this.sendToOwner(redirected);
        break;
      default:
        onDoubt();
    }
    clock.after(PAUSE_MS, () => this.sendToOwner(redirected));
  }

  close(): void {
    this.closed = true;
  }

  private async waitForOwner(slot: number): Promise<RedisConnection> {
    const { clock, commandTimeoutMs, changeSignal, ownerOf } = this.options;
    const deadline = clock.now() + Math.min(commandTimeoutMs, OWNER_PATIENCE_MS);
    for (;;) {
      if (!(await changeSignal.before(deadline))) throw new StoreFailure('no', 'unavailable');
      const owner = ownerOf(slot);
      if (owner) return owner;
    }
  }

  /** Sends the operation to the owner of its slot, as soon as the owner is ready. */
  private sendToOwner(redirected: RedirectedOperation): void {
    const { clock, changeSignal, commandTimeoutMs, ownerOf } = this.options;
    const { operation, mayHaveRun } = redirected;
    const owner = ownerOf(slotOfKey(operation.command.keys[0] ?? ''));
    const until = Math.min(operation.deadline, owner?.patienceEnds ?? Infinity);
    const now = clock.now();
    const replyMs = Math.max(PAUSE_MS, commandTimeoutMs * REPLY_SHARE);
    if (now + replyMs < operation.deadline && owner?.isReady) return owner.commands.resume(redirected, false);
    if (this.closed || owner?.isReady || now >= until) {
      return operation.reject(new StoreFailure(mayHaveRun ? 'unknown' : 'no', 'unavailable'));
    }
    void changeSignal.before(until).then(() => this.sendToOwner(redirected));
  }
}
