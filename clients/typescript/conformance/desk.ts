import type { Holdfast, Lease, TypeAhead } from '..';
import { Cancelled } from './failures';

interface Held {
  readonly lease: Lease;
  isReleased: boolean;
}

/** A body of `with_lock` that waits for its end. */
export interface Work {
  end(fail: string | undefined): void;
}

/** What the driver has opened, by the names that the case gave. */
export class Desk {
  readonly works = new Map<number, Work>();
  readonly inputs = new Map<string, TypeAhead>();
  private readonly clients = new Map<string, Holdfast>();
  private readonly leases = new Map<string, Held>();
  /** The commands without a result that can be given up. */
  private readonly cancels = new Map<number, AbortController>();

  constructor(readonly tell: (event: object) => void) {}

  add(name: string, client: Holdfast): void {
    this.clients.set(name, client);
  }

  client(name: unknown): Holdfast {
    const client = this.clients.get(String(name));
    if (!client) throw new Error(`there is no client ${String(name)}`);
    return client;
  }

  lease(name: unknown): Lease {
    return this.held(name).lease;
  }

  /** Watches the lease, and tells its loss. */
  keep(name: string, lease: Lease): void {
    const held: Held = { lease, isReleased: false };
    const grantedAt = performance.now();
    this.leases.set(name, held);
    const tell = () => {
      const { loss } = lease;
      if (loss === undefined || held.isReleased) return;
      const { lossCause: cause, noticedBy: noticed_by } = loss;
      this.tell({
        event: 'lost',
        lease: name,
        cause,
        noticed_by,
        at_ms: Math.round(performance.now() - grantedAt),
      });
    };
    if (lease.signal.aborted) tell();
    else lease.signal.addEventListener('abort', tell, { once: true });
  }

  released(name: unknown): Lease {
    const held = this.held(name);
    held.isReleased = true;
    return held.lease;
  }

  /** A signal that the command `cancel` aborts. */
  cancelSignal(id: unknown): AbortSignal {
    const controller = new AbortController();
    this.cancels.set(Number(id), controller);
    return controller.signal;
  }

  cancel(of: unknown): void {
    const controller = this.cancels.get(Number(of));
    if (!controller) throw new Error('there is no such command');
    controller.abort(new Cancelled('given up'));
  }

  ended(id: unknown): void {
    this.cancels.delete(Number(id));
  }

  private held(name: unknown): Held {
    const held = this.leases.get(String(name));
    if (!held) throw new Error(`there is no lease ${String(name)}`);
    return held;
  }
}
