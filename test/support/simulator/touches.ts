import type { Micros } from '../history';
import type { StoreCommands } from './commands';
import type { IsBroken } from './mutations';
import type { SimServer } from './server';
import type { SimStore } from './store';
import type { Stream } from './stream';

const SECOND: Micros = 1_000_000;

/** Touches each name with waiters at this server every second. See `docs/design/leases.md`, rule 6. */
export class Touches {
  private readonly touched = new Set<string>();

  constructor(
    private readonly server: SimServer,
    private readonly commands: StoreCommands,
    private readonly store: SimStore,
    private readonly isBroken: IsBroken,
  ) {}

  /** Starts the touches of a name, and adds a touch at the end of the name's earliest lease. */
  start(name: string, nextEndInUs: Micros): void {
    if (!this.touched.has(name)) {
      this.touched.add(name);
      this.touchEvery(name, this.isBroken('slow_expiry') ? 3.5 * SECOND : SECOND);
    }
    this.touchAtEnd(name, nextEndInUs);
  }

  private touchEvery(name: string, interval: Micros): void {
    this.server.after(interval, () => {
      // After a claim or a withdrawal in flight (`asking`), a stream may still wait. So the server goes on touching.
      if (this.streamsOf(name, ['waiting', 'asking']).length === 0) {
        this.touched.delete(name);
        return;
      }
      this.touch(name);
      this.touchEvery(name, interval);
    });
  }

  private touchAtEnd(name: string, nextEndInUs: Micros): void {
    if (nextEndInUs <= SECOND && !this.isBroken('slow_expiry')) {
      this.server.after(Math.max(0, nextEndInUs) + 1_000, () => this.touch(name));
    }
  }

  private touch(name: string): void {
    const waiting = this.streamsOf(name, ['waiting']);
    if (waiting.length === 0) return;
    const attaches = new Map(waiting.map(({ call, attachment }) => [call.requestId, attachment.attach]));
    this.commands.sendGranting(
      () => this.store.touch(name, this.server.name, attaches),
      (reply) => {
        for (const stream of waiting.filter(({ state }) => state === 'waiting')) {
          const { requestId } = stream.call;
          // Two calls of one request may wait here. The touch carried the attach value of the newer call.
          const isOlder = attaches.get(requestId) !== stream.attachment.attach;
          if (isOlder || reply.superseded.includes(requestId)) {
            this.server.end(stream, 'ABORTED', 'SUPERSEDED');
          } else if (reply.gone.includes(requestId)) this.server.acquire(stream);
          else if (reply.offers.includes(requestId) && !this.isBroken('pubsub_only_wake_up')) {
            this.server.claim(stream, this.server.now);
          }
        }
        this.touchAtEnd(name, reply.nextEndInUs);
      },
    );
  }

  private streamsOf(name: string, states: readonly Stream['state'][]): Stream[] {
    return [...this.server.streams.values()].filter(
      ({ call, state }) => call.name === name && states.includes(state),
    );
  }
}
