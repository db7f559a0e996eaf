import { connect, type Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import { readHeaders, requestHeaders } from './hpack';

/** How a call ended: OK, the reason or status of the answer, or what took the place of an answer. */
export type Outcome = string;

export interface FrameConnectionOptions {
  /**
   * `all`: reads every answer. `no-messages`: keeps the flow-control window of every answer at 0, so that the server
   * must keep each message. `nothing`: does not read from the socket at all. Default: `all`.
   */
  readonly reads?: 'all' | 'no-messages' | 'nothing';
  readonly onOutcome?: (outcome: Outcome, stream: number) => void;
  /** Called once, when the connection has ended. Every open call had its outcome before. */
  readonly onEnd?: () => void;
}

export interface RawCall {
  readonly path: string;
  /** Further headers, in this order. A name may come twice. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  /** The bytes of the request's body, in one DATA frame. Default: none. */
  readonly body?: Buffer;
  /** Whether the client half-closes. Default: true. */
  readonly halfClose?: boolean;
  /** Whether RST_STREAM follows at once, in the same write. */
  readonly reset?: boolean;
}

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const FRAME_HEAD = 9;
const [DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE] = [0, 1, 3, 4, 6, 7, 8];
const END_STREAM = 0x1;
const ACK = 0x1;
const END_HEADERS = 0x4;
const CANCEL = 8;
const [HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE] = [1, 4];
const DEFAULT_WINDOW = 65_535;
const LARGEST_WINDOW = 2 ** 31 - 1;
const STATUS_HEADERS = ['grpc-status', 'holdfast-reason'] as const;

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const bytes = Buffer.alloc(FRAME_HEAD + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  payload.copy(bytes, FRAME_HEAD);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Frames that a server must not answer. A reset of stream 1 is no error after this stream has ended. */
const IDLE_FRAMES = {
  priority: { type: 2, payload: Buffer.of(0, 0, 0, 0, 15) },
  'window-update': { type: WINDOW_UPDATE, payload: Buffer.of(0, 0, 0, 1) },
  reset: { type: RST_STREAM, payload: uint32(CANCEL) },
};

function setting(id: number, value: number): Buffer {
  return Buffer.concat([Buffer.of(0, id), uint32(value)]);
}

/**
 * A gRPC client of hand-made HTTP/2 frames: cheap enough to attack from one process, and without the manners of a
 * library. It sends no more data than the connection's window allows, because the server ends a connection that does.
 */
export class FrameConnection {
  private readonly socket: Socket;
  private readonly blocks = new Map<string, Buffer>();
  private readonly open = new Set<number>();
  /** Calls that wait for the connection's window, in the order of their streams. */
  private readonly backlog: { readonly stream: number; readonly call: RawCall }[] = [];
  private out: Buffer[] = [];
  private received: Buffer = Buffer.alloc(0);
  private sendWindow = DEFAULT_WINDOW;
  private nextStream = 1;
  private goneAway = false;
  private isEnded = false;
  private readonly connected: Promise<void>;

  constructor(
    private readonly address: string,
    private readonly options: FrameConnectionOptions = {},
  ) {
    const colon = address.lastIndexOf(':');
    this.socket = connect({
      host: address.slice(0, colon),
      port: Number(address.slice(colon + 1)),
      noDelay: true,
    });
    this.connected = new Promise((resolve) => {
      this.socket.once('connect', resolve);
      this.socket.once('close', () => resolve());
    });
    this.socket.on('error', () => undefined); // The event 'close' follows.
    this.socket.on('close', () => this.end('connection ended'));
    if (options.reads !== 'nothing') this.socket.on('data', (bytes) => this.read(bytes));
    const window = options.reads === 'no-messages' ? 0 : LARGEST_WINDOW;
    const settings = Buffer.concat([setting(HEADER_TABLE_SIZE, 0), setting(INITIAL_WINDOW_SIZE, window)]);
    this.send(PREFACE);
    this.send(frame(SETTINGS, 0, 0, settings));
    // The window of the connection is opened once and for all: an attack receives less than 2 GB.
    this.send(frame(WINDOW_UPDATE, 0, 0, uint32(LARGEST_WINDOW / 2)));
  }

  /** Sends frames that are no part of a call, `count` times in one write. */
  sendIdle(kind: keyof typeof IDLE_FRAMES, count: number): void {
    const { type, payload } = IDLE_FRAMES[kind];
    const one = frame(type, 0, kind === 'window-update' ? 0 : 1, payload);
    this.send(Buffer.concat(Array<Buffer>(count).fill(one)));
  }

  /** Resolves when the connection is established or has failed. */
  ready(): Promise<void> {
    return this.connected;
  }

  /** True if the connection takes no new calls. */
  get ended(): boolean {
    return this.isEnded || this.goneAway;
  }

  /** The number of calls without an outcome. */
  get openCalls(): number {
    return this.open.size;
  }

  /** Sends a call, or keeps the call until the connection's window has room. Returns the number of its stream. */
  call(call: RawCall): number {
    const stream = this.nextStream;
    this.nextStream += 2;
    if (this.isEnded) return stream;
    this.open.add(stream);
    this.backlog.push({ stream, call });
    this.writeBacklog();
    return stream;
  }

  /** Ends a call with RST_STREAM. Returns false if the call has ended before. */
  reset(stream: number): boolean {
    if (!this.open.has(stream)) return false;
    // A stream of the backlog is unknown to the server.
    if (stream < (this.backlog[0]?.stream ?? Infinity)) this.sendReset(stream);
    this.settle(stream, 'reset');
    return true;
  }

  /** True if the server's window and the socket have room for more calls. */
  get writable(): boolean {
    return !this.isEnded && this.backlog.length === 0 && !this.socket.writableNeedDrain;
  }

  /** Cuts the connection. Open calls end with the outcome `no answer`. */
  close(): void {
    this.end('no answer');
    this.socket.destroy();
  }

  private writeBacklog(): void {
    for (let next = this.backlog[0]; next !== undefined; next = this.backlog[0]) {
      const { stream, call } = next;
      const size = call.body?.length ?? 0;
      if (size > this.sendWindow) return;
      this.backlog.shift();
      if (!this.open.has(stream)) continue;
      this.sendWindow -= size;
      this.write(stream, call);
    }
  }

  private write(stream: number, { path, headers, body, halfClose = true, reset = false }: RawCall): void {
    const last = halfClose ? END_STREAM : 0;
    const flags = END_HEADERS | (body === undefined ? last : 0);
    this.send(frame(HEADERS, flags, stream, this.headersOf(path, headers)));
    if (body !== undefined) this.send(frame(DATA, last, stream, body));
    if (!reset) return;
    this.sendReset(stream);
    this.settle(stream, 'reset');
  }

  private sendReset(stream: number): void {
    this.send(frame(RST_STREAM, 0, stream, uint32(CANCEL)));
  }

  private headersOf(path: string, more: RawCall['headers']): Buffer {
    if (more !== undefined) return requestHeaders(path, this.address, more);
    let block = this.blocks.get(path);
    if (block === undefined) this.blocks.set(path, (block = requestHeaders(path, this.address)));
    return block;
  }

  /** Collects the frames of one turn of the event loop into one write. */
  private send(bytes: Buffer): void {
    this.out.push(bytes);
    if (this.out.length === 1) setImmediate(() => this.flush());
  }

  private flush(): void {
    const { out } = this;
    this.out = [];
    if (out.length > 0 && !this.isEnded) this.socket.write(Buffer.concat(out));
  }

  private read(bytes: Buffer): void {
    const all = this.received.length === 0 ? bytes : Buffer.concat([this.received, bytes]);
    let at = 0;
    while (all.length - at >= FRAME_HEAD) {
      const end = at + FRAME_HEAD + all.readUIntBE(at, 3);
      if (all.length < end) break;
      const stream = all.readUInt32BE(at + 5) & LARGEST_WINDOW;
      this.receive(all.readUInt8(at + 3), all.readUInt8(at + 4), stream, all.subarray(at + FRAME_HEAD, end));
      at = end;
    }
    this.received = Buffer.from(all.subarray(at));
  }

  private receive(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === HEADERS && flags & END_STREAM) this.settle(stream, outcomeOf(payload));
    else if (type === RST_STREAM) this.settle(stream, `RST_STREAM ${payload.readUInt32BE(0)}`);
    else if (type === SETTINGS && !(flags & ACK)) this.send(frame(SETTINGS, ACK, 0));
    else if (type === PING && !(flags & ACK)) this.send(frame(PING, ACK, 0, payload));
    else if (type === GOAWAY) this.goneAway = true;
    else if (type === WINDOW_UPDATE && stream === 0) this.widen(payload.readUInt32BE(0));
  }

  private widen(by: number): void {
    this.sendWindow += by;
    this.writeBacklog();
  }

  private settle(stream: number, outcome: Outcome): void {
    if (this.open.delete(stream)) this.options.onOutcome?.(outcome, stream);
  }

  private end(outcome: Outcome): void {
    if (this.isEnded) return;
    this.isEnded = true;
    for (const stream of this.open) this.settle(stream, outcome);
    this.options.onEnd?.();
  }
}

function outcomeOf(block: Buffer): Outcome {
  const headers = readHeaders(block, STATUS_HEADERS);
  const code = headers.get('grpc-status');
  if (code === undefined) return 'no status';
  return headers.get('holdfast-reason') ?? status[Number(code)] ?? `status ${code}`;
}
