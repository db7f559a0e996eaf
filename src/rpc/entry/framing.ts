interface ResizableArrayBuffer extends ArrayBuffer {
  resize(bytes: number): void;
}

/** Node has this class since version 20. The type declarations of ES2022 do not have the class. */
const ResizableArrayBuffer = ArrayBuffer as unknown as new (
  bytes: number,
  options: { readonly maxByteLength: number },
) => ResizableArrayBuffer;

/**
 * A buffer that grows in place, and gives its memory back when its owner calls `release`. The memory of a usual buffer
 * is free only after the next garbage collection, which a server without work may delay for minutes.
 */
class ReleasableBuffer {
  private readonly memory: ResizableArrayBuffer;
  private readonly bytes: Uint8Array;

  constructor(maxBytes: number) {
    this.memory = new ResizableArrayBuffer(0, { maxByteLength: maxBytes });
    this.bytes = new Uint8Array(this.memory);
  }

  get capacity(): number {
    return this.memory.byteLength;
  }

  /** Keeps the bytes so far. */
  grow(bytes: number): void {
    this.memory.resize(bytes);
  }

  write(data: Uint8Array, offset: number): void {
    this.bytes.set(data, offset);
  }

  /** Copies all bytes. Many functions of Node refuse a buffer that can change its size. */
  toBuffer(): Buffer {
    const copy = Buffer.allocUnsafeSlow(this.capacity);
    copy.set(this.bytes);
    return copy;
  }

  /** Gives the memory back to the operating system. */
  release(): void {
    this.memory.resize(0);
  }
}

/** The compression flag and the length in front of each message. */
const HEAD_BYTES = 5;
/** The first buffer of a message that arrives in several pieces. A longer message doubles its buffer. */
const FIRST_BUFFER_BYTES = 1024;

/** A longer message gets a buffer with its own memory pages. Such a buffer costs too much for a small message. */
const LARGE_BYTES = 65_536;

/** Both functions may call `stop` of the framing. */
export interface FramingObserver {
  /** The length of a message is known. Called before the message is buffered. */
  onLength(bytes: number): void;
  /** The buffer of the message is about to grow by this number of bytes. */
  onGrowth(bytes: number): void;
}

/**
 * Cuts the data of a stream into messages. Takes the place of the StreamDecoder of grpc-js, with two differences. The
 * observer can stop the framing before a message is buffered. And all pieces are copied, because a piece is a view of
 * a whole read of the socket: one byte of an unfinished message would keep up to 64 KiB in memory.
 */
export class MessageFraming {
  /** The head, and the body of a message that is not large. */
  private buffer: Buffer | undefined;
  /** The head and the body of a large message. */
  private large: ReleasableBuffer | undefined;
  private filled = 0;
  /** The bytes of the message with its head. While the length is unknown: the bytes of the head. */
  private wanted = HEAD_BYTES;
  private lengthKnown = false;
  private stopped = false;

  constructor(private readonly observer: FramingObserver) {}

  /** True if a part of a message has arrived. */
  get partial(): boolean {
    return this.filled > 0;
  }

  /** Returns the messages that `data` completes, each with its head. */
  write(data: Buffer): Buffer[] {
    const messages: Buffer[] = [];
    if (this.stopped) return messages;
    if (this.filled === 0 && isOneMessage(data)) {
      this.observer.onLength(data.length - HEAD_BYTES);
      if (!this.hasStopped()) this.observer.onGrowth(data.length);
      if (!this.hasStopped()) messages.push(Buffer.from(data));
      return messages;
    }
    let offset = 0;
    while (offset < data.length && !this.hasStopped()) {
      offset += this.take(data, offset);
      if (!this.lengthKnown && this.filled === HEAD_BYTES) this.readLength();
      if (this.lengthKnown && this.filled === this.wanted) messages.push(this.complete());
    }
    return this.hasStopped() ? [] : messages;
  }

  /** Forgets the unfinished message, and ignores all further data. */
  stop(): void {
    this.stopped = true;
    this.forget();
  }

  /** Copies bytes of the present head or body, and returns their number. */
  private take(data: Buffer, offset: number): number {
    const count = Math.min(this.wanted - this.filled, data.length - offset);
    this.reserve(this.filled + count);
    if (this.hasStopped()) return count;
    const piece = data.subarray(offset, offset + count);
    if (this.large === undefined) this.buffer?.set(piece, this.filled);
    else this.large.write(piece, this.filled);
    this.filled += count;
    return count;
  }

  /** The capacity grows with the received bytes, because a client can announce any length. */
  private reserve(bytes: number): void {
    const capacity = this.large?.capacity ?? this.buffer?.length ?? 0;
    if (bytes <= capacity) return;
    const grown = Math.min(this.wanted, Math.max(bytes, 2 * capacity, FIRST_BUFFER_BYTES));
    this.observer.onGrowth(grown - capacity);
    if (this.hasStopped()) return;
    if (this.wanted > LARGE_BYTES) this.growLarge(grown);
    else this.growSmall(grown);
  }

  private growSmall(bytes: number): void {
    const old = this.buffer;
    // Not from the pool of Node: a few bytes of an idle stream would keep the 8 KiB of the pool.
    this.buffer = Buffer.allocUnsafeSlow(bytes);
    old?.copy(this.buffer, 0, 0, this.filled);
  }

  private growLarge(bytes: number): void {
    if (this.large !== undefined) {
      this.large.grow(bytes);
      return;
    }
    this.large = new ReleasableBuffer(this.wanted);
    this.large.grow(bytes);
    if (this.buffer !== undefined) this.large.write(this.buffer.subarray(0, this.filled), 0);
    this.buffer = undefined;
  }

  private readLength(): void {
    const length = this.buffer?.readUInt32BE(1) ?? 0;
    this.lengthKnown = true;
    this.wanted = HEAD_BYTES + length;
    this.observer.onLength(length);
  }

  private complete(): Buffer {
    const message = this.large?.toBuffer() ?? this.buffer ?? Buffer.alloc(0);
    this.forget();
    return message;
  }

  private forget(): void {
    this.buffer = undefined;
    this.large?.release();
    this.large = undefined;
    this.filled = 0;
    this.wanted = HEAD_BYTES;
    this.lengthKnown = false;
  }

  /** A method, because the compiler does not expect that the observer calls `stop`. */
  private hasStopped(): boolean {
    return this.stopped;
  }
}

function isOneMessage(data: Buffer): boolean {
  return data.length >= HEAD_BYTES && data.readUInt32BE(1) === data.length - HEAD_BYTES;
}
