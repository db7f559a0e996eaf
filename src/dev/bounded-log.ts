import { closeSync, existsSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** The output that stays in memory while the file cannot be written. */
const PENDING_LIMIT_BYTES = 64 * 1024;

/**
 * A log file that takes at most twice `limitBytes` on disk. A full file replaces `<file>.1`. Writes are synchronous, so
 * the last lines of a crashing process are kept. While the file cannot be written, the last 64 KiB stay in memory until
 * a later write succeeds. A line in the file tells how many bytes were lost before them.
 */
export class BoundedLog {
  /** Undefined: the file is not open. */
  private descriptor: number | undefined;
  private size = 0;
  private pending: Buffer = Buffer.alloc(0);
  private lostBytes = 0;

  /** Never throws. A file that cannot be opened is opened by a later write. */
  constructor(
    private readonly file: string,
    private readonly limitBytes: number,
  ) {
    try {
      mkdirSync(dirname(file), { recursive: true });
      this.descriptor = this.open();
    } catch {
      // The next write tries again.
    }
  }

  /** Never throws, because a full disk or a removed folder must not end the process that writes the log. */
  write(chunk: Uint8Array): void {
    this.pending = Buffer.concat([this.pending, chunk]);
    try {
      this.writePending();
    } catch {
      const excess = Math.max(0, this.pending.length - PENDING_LIMIT_BYTES);
      this.pending = Buffer.from(this.pending.subarray(excess));
      this.lostBytes += excess;
    }
  }

  private writePending(): void {
    if (this.lostBytes > 0) {
      const note = `[${this.lostBytes} bytes are missing here, because this file could not be written]\n`;
      for (let rest: Buffer = Buffer.from(note); rest.length > 0;) rest = this.append(rest);
      this.lostBytes = 0;
    }
    while (this.pending.length > 0) this.pending = this.append(this.pending);
  }

  /** Returns the bytes that were not written, because a disk that is nearly full takes only a part. */
  private append(bytes: Buffer): Buffer {
    this.descriptor ??= this.open();
    if (this.size > 0 && this.size + bytes.length > this.limitBytes)
      this.descriptor = this.rotate(this.descriptor);
    const written = writeSync(this.descriptor, bytes);
    this.size += written;
    return bytes.subarray(written);
  }

  private open(): number {
    const descriptor = openSync(this.file, 'a', 0o600);
    this.size = fstatSync(descriptor).size;
    return descriptor;
  }

  private rotate(descriptor: number): number {
    // The number of a closed descriptor may soon belong to another file, so the field is cleared first.
    this.descriptor = undefined;
    closeSync(descriptor);
    if (existsSync(this.file)) renameSync(this.file, `${this.file}.1`);
    return this.open();
  }
}
