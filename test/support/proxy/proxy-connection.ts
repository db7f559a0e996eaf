import type { Socket } from 'node:net';
import { ProxyLane, type LaneState } from './proxy-lane';
import { commandWords, FrameReader, isPush } from './resp-frames';

export interface RedisCommand {
  /** In capitals. */
  readonly name: string;
  readonly args: readonly string[];
}

/** What a proxy decides about a command that passes. */
export type Verdict = 'pass' | 'drop-reply' | 'drop-request';

export interface ConnectionHooks {
  readonly toTarget: LaneState;
  readonly toClient: LaneState;
  readonly bytes: (direction: 'toTarget' | 'toClient', count: number) => void;
  /** Only of a proxy that reads Redis's protocol. */
  readonly command: ((command: RedisCommand) => Verdict) | undefined;
  /** A reply or a request was dropped, and the connection cut with it. */
  readonly dropped: () => void;
  readonly closed: (connection: ProxyConnection) => void;
}

/** One client's connection and its other half to the target. */
export class ProxyConnection {
  private readonly up: ProxyLane;
  private readonly down: ProxyLane;
  private readonly requests = new FrameReader();
  private readonly replies = new FrameReader();
  /** Replies still to pass before the one that is dropped; undefined: none is. */
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
      // 'close' follows, and says all that there is to pass on.
      socket.on('error', () => undefined);
    }
    client.on('data', (chunk: Buffer) => this.fromClient(chunk));
    target.on('data', (chunk: Buffer) => this.fromTarget(chunk));
    client.on('end', () => this.up.end());
    target.on('end', () => this.down.end());
    client.on('close', () => this.halfClosed(this.up));
    target.on('close', () => this.halfClosed(this.down));
  }

  /** Delivers what has become deliverable by a change of the lanes' state. */
  deliver(): void {
    this.up.deliver();
    this.down.deliver();
  }

  /** Ends both halves at once, with a reset, and forgets what was held. */
  cut(): void {
    // Node never lets go of a socket that is to be reset while its end is being sent.
    const { writableEnded, writableFinished } = this.client;
    if (writableEnded && !writableFinished) this.client.destroy();
    else this.client.resetAndDestroy();
    this.target.destroy();
    this.forget();
  }

  /** The other half hears of it by the lane, so not at all while that is held. */
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

  /** What came before the dropped one is on its way and arrives. */
  private drop(): void {
    this.client.destroySoon();
    this.target.destroySoon();
    this.forget();
    this.hooks.dropped();
  }
}
