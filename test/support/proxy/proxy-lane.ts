import type { Socket } from 'node:net';

/** The faults of one direction, shared by all connections of a proxy. */
export interface LaneState {
  delayMs: number;
  held: boolean;
}

/** The size of the buffer (bytes). A full buffer pauses the sender, as a receive window does. */
const WINDOW_BYTES = 1024 * 1024;

/**
 * One direction of one connection. A held lane keeps all bytes and the end of the stream, as a network that loses
 * packets and sends them again. A released lane delivers all bytes in order.
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

  /** Queues the end of the stream behind the bytes that were sent before. */
  end(): void {
    if (this.ended) return;
    this.ended = true;
    this.enqueue('end');
  }

  /** Delivers all due bytes. Must be called after a change of the state. */
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

  /** Discards held bytes and all later bytes. */
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
