import type { Socket } from 'node:net';

/** The end of the RESP2 or RESP3 frame at `start`. Undefined if the frame is incomplete. */
function frameEnd(bytes: Buffer, start: number): number | undefined {
  const lineEnd = bytes.indexOf('\r\n', start);
  if (lineEnd < 0) return undefined;
  const next = lineEnd + 2;
  const kind = String.fromCharCode(bytes[start] ?? 0);
  const length = Number(bytes.toString('latin1', start + 1, lineEnd));
  if ('$=!'.includes(kind)) {
    if (length < 0) return next;
    return next + length + 2 <= bytes.length ? next + length + 2 : undefined;
  }
  const parts = '*~>'.includes(kind) ? length : kind === '%' ? 2 * length : kind === '|' ? 2 * length + 1 : 0;
  let end: number | undefined = next;
  for (let i = 0; i < parts && end !== undefined; i++) end = frameEnd(bytes, end);
  return end;
}

/** The words of a command, which is an array of bulk strings or one line of words. */
export function commandWords(frame: Buffer): string[] {
  if (frame[0] !== '*'.charCodeAt(0)) return frame.toString().trim().split(/\s+/);
  const words: string[] = [];
  let at = frame.indexOf('\r\n') + 2;
  while (at < frame.length) {
    const lineEnd = frame.indexOf('\r\n', at);
    const length = Number(frame.toString('latin1', at + 1, lineEnd));
    words.push(frame.toString('utf8', lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + 2 + length + 2;
  }
  return words;
}

/** True for a RESP3 push message, which is not a reply to a command. */
export function isPush(frame: Buffer): boolean {
  return frame[0] === '>'.charCodeAt(0);
}

/** Splits a stream of bytes into frames of Redis's protocol. */
export class FrameReader {
  private rest: Buffer = Buffer.alloc(0);

  /** Adds bytes and returns the frames that are complete now. */
  push(chunk: Buffer): Buffer[] {
    const bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    const frames: Buffer[] = [];
    let start = 0;
    for (let end = 0; start < bytes.length; start = end) {
      const found = frameEnd(bytes, start);
      if (found === undefined) break;
      end = found;
      frames.push(bytes.subarray(start, end));
    }
    this.rest = bytes.subarray(start);
    return frames;
  }
}

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
class ProxyLane {
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

export interface RedisCommand {
  /** The name of the command, in upper case. */
  readonly name: string;
  readonly args: readonly string[];
}

/** The decision of a proxy about a command. */
export type Verdict = 'pass' | 'drop-reply' | 'drop-request';

export interface ConnectionHooks {
  readonly toTarget: LaneState;
  readonly toClient: LaneState;
  readonly bytes: (direction: 'toTarget' | 'toClient', count: number) => void;
  /** Decides about each command. Undefined if the proxy does not parse the protocol. */
  readonly command: ((command: RedisCommand) => Verdict) | undefined;
  /** Called after the drop of a reply or a request and the cut of the connection. */
  readonly dropped: () => void;
  readonly closed: (connection: ProxyConnection) => void;
}

/** A client's connection and the proxy's connection to the target. */
export class ProxyConnection {
  private readonly up: ProxyLane;
  private readonly down: ProxyLane;
  private readonly requests = new FrameReader();
  private readonly replies = new FrameReader();
  /** The number of replies that pass before the dropped reply. Undefined if no reply is dropped. */
  private repliesBeforeDrop: number | undefined;
  private unanswered = 0;
  private closed = false;

  constructor(
    private readonly client: Socket,
    private readonly target: Socket,
    private readonly hooks: ConnectionHooks,
  ) {
    this.up = new ProxyLane(client, target, hooks.toTarget);
    this.down = new ProxyLane(target, client, hooks.toClient);
    for (const socket of [client, target]) {
      socket.setNoDelay(true);
      // An event 'close' follows, and its handler ends the other connection.
      socket.on('error', () => undefined);
    }
    client.on('data', (chunk: Buffer) => this.fromClient(chunk));
    target.on('data', (chunk: Buffer) => this.fromTarget(chunk));
    client.on('end', () => this.up.end());
    target.on('end', () => this.down.end());
    client.on('close', () => this.halfClosed(this.up));
    target.on('close', () => this.halfClosed(this.down));
  }

  /** Delivers all bytes that may pass after a change of the lanes' state. */
  deliver(): void {
    this.up.deliver();
    this.down.deliver();
  }

  /** Resets both connections immediately, and discards held bytes. */
  cut(): void {
    // Node never closes a socket that is reset while its end is being sent.
    const { writableEnded, writableFinished } = this.client;
    if (writableEnded && !writableFinished) this.client.destroy();
    else this.client.resetAndDestroy();
    this.target.destroy();
    this.forget();
  }

  /** Passes the end of a connection through the lane to the other side, so that a held lane also holds the end. */
  private halfClosed(lane: ProxyLane): void {
    lane.end();
    if (this.client.destroyed && this.target.destroyed) this.forget();
  }

  private forget(): void {
    if (this.closed) return;
    this.closed = true;
    this.up.close();
    this.down.close();
    this.hooks.closed(this);
  }

  private fromClient(chunk: Buffer): void {
    this.hooks.bytes('toTarget', chunk.length);
    if (!this.hooks.command) return this.up.carry(chunk);
    for (const frame of this.requests.push(chunk)) {
      const [name = '', ...args] = commandWords(frame);
      const verdict = this.hooks.command({ name: name.toUpperCase(), args });
      if (verdict === 'drop-request') return this.drop();
      if (verdict === 'drop-reply') this.repliesBeforeDrop ??= this.unanswered;
      this.unanswered++;
      this.up.carry(frame);
    }
  }

  private fromTarget(chunk: Buffer): void {
    this.hooks.bytes('toClient', chunk.length);
    if (!this.hooks.command) return this.down.carry(chunk);
    for (const frame of this.replies.push(chunk)) {
      if (!isPush(frame)) {
        if (this.repliesBeforeDrop === 0) return this.drop();
        if (this.repliesBeforeDrop !== undefined) this.repliesBeforeDrop--;
        this.unanswered--;
      }
      this.down.carry(frame);
    }
  }

  /** Ends both connections after the delivery of all earlier bytes. */
  private drop(): void {
    this.client.destroySoon();
    this.target.destroySoon();
    this.forget();
    this.hooks.dropped();
  }
}
