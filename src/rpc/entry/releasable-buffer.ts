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
export class ReleasableBuffer {
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
