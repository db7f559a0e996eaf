import type { Socket } from 'node:net';

/** How a lane carries what it is given; shared by all connections of a proxy. */
export interface LaneState {
  delayMs: number;
  held: boolean;
}

/** A receiver's window: a sender that nobody reads from comes to a halt. */
const WINDOW_BYTES = 1024 * 1024;

/**
 * One direction of one connection. Held, it keeps everything, the end of the stream too, as a network does that
 * loses packets and sends them again; let go, it delivers in order.
 */
export class ProxyLane {
  private readonly waiting: { readonly chunk: Buffer | 'end'; readonly due: number }[] = [];
  private waitingBytes = 0;
  private timer: NodeJS.Timeout | undefined;
  private ended = false;
  private closed = false;

  constructor(
    private readonly from: Socket,
    private readonly to: Socket,
    private readonly state: LaneState,
  ) {
    to.on('drain', () => this.adjustWindow());
  }

  carry(chunk: Buffer): void {
    this.waitingBytes += chunk.length;
    this.enqueue(chunk);
  }

  /** The end of the stream takes its turn behind what was sent. */
  end(): void {
    if (this.ended) return;
    this.ended = true;
    this.enqueue('end');
  }

  /** Delivers what is due; to be called when the state changes. */
  deliver(): void {
    clearTimeout(this.timer);
    while (!this.state.held) {
      const next = this.waiting[0];
      if (!next) break;
      const early = next.due - performance.now();
      if (early > 0) {
        this.timer = setTimeout(() => this.deliver(), Math.ceil(early));
        break;
      }
      this.waiting.shift();
      if (next.chunk === 'end') this.to.end();
      else {
        this.waitingBytes -= next.chunk.length;
        if (!this.to.destroyed) this.to.write(next.chunk);
      }
    }
    this.adjustWindow();
  }

  /** Forgets what it holds and carries nothing more. */
  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.waiting.length = 0;
  }

  private enqueue(chunk: Buffer | 'end'): void {
    if (this.closed) return;
    this.waiting.push({ chunk, due: performance.now() + this.state.delayMs });
    this.deliver();
  }

  private adjustWindow(): void {
    if (this.waitingBytes > WINDOW_BYTES || this.to.writableNeedDrain) this.from.pause();
    else this.from.resume();
  }
}
