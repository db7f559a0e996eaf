import type { Socket } from 'node:net';
import { ProxyLane, type LaneState } from './proxy-lane';
import { commandWords, FrameReader, isPush } from './resp-frames';

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
