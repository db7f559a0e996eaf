import type { Clock, Timer } from '../../engine/clock';
import type { Log } from '../grpc/log';

const INTERVAL_MS = 1000;
/** The most lines of one address in one interval. */
const LINES_OF_ADDRESS = 5;
/** The bound of addresses with lines of their own in one interval. Further addresses share their lines. */
const MAX_ADDRESSES = 20;
const SEVERAL = 'several addresses';

interface Counter {
  lines: number;
  suppressed: number;
}

/**
 * Logs refused credentials. A flood of refusals costs few lines, and does not hide the refusals of other addresses. Each
 * refusal without a line is counted in a line at the end of the interval.
 */
export class RefusalLog {
  private readonly counters = new Map<string, Counter>();
  private timer: Timer | undefined;

  constructor(
    private readonly log: Log,
    private readonly clock: Clock,
  ) {}

  /** @param peer the address of the client, with or without a port */
  write(peer: string, fields: () => object): void {
    const address = peer.replace(/:\d+$/, '');
    const isKnown = this.counters.has(address) || this.counters.size < MAX_ADDRESSES;
    const counter = this.counterOf(isKnown ? address : SEVERAL);
    if (counter.lines >= LINES_OF_ADDRESS) {
      counter.suppressed += 1;
      return;
    }
    counter.lines += 1;
    this.log.warn({ ...fields(), peer }, 'refused a credential');
  }

  close(): void {
    this.timer?.cancel();
    this.endInterval();
  }

  private counterOf(address: string): Counter {
    let counter = this.counters.get(address);
    if (counter === undefined) this.counters.set(address, (counter = { lines: 0, suppressed: 0 }));
    this.timer ??= this.clock.after(INTERVAL_MS, () => this.endInterval());
    return counter;
  }

  private endInterval(): void {
    this.timer = undefined;
    for (const [address, { suppressed }] of this.counters) {
      if (suppressed > 0) this.log.warn({ peer: address, suppressed }, 'refused more credentials');
    }
    this.counters.clear();
  }
}
