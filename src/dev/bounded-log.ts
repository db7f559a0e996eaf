import { closeSync, existsSync, mkdirSync, openSync, renameSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * A log file that takes at most twice `limitBytes` on disk. A full file replaces `<file>.1`. Writes are synchronous, so
 * the last lines of a crashing process are kept.
 */
export class BoundedLog {
  private descriptor: number;
  private size: number;

  constructor(
    private readonly file: string,
    private readonly limitBytes: number,
  ) {
    mkdirSync(dirname(file), { recursive: true });
    this.size = existsSync(file) ? statSync(file).size : 0;
    this.descriptor = openSync(file, 'a', 0o600);
  }

  /** Never throws, because a full disk or a removed folder must not end the process that writes the log. */
  write(chunk: Uint8Array): void {
    try {
      if (this.size + chunk.length > this.limitBytes) this.rotate();
      writeSync(this.descriptor, chunk);
      this.size += chunk.length;
    } catch {
      // There is no other place to report the failure.
    }
  }

  private rotate(): void {
    closeSync(this.descriptor);
    if (existsSync(this.file)) renameSync(this.file, `${this.file}.1`);
    this.descriptor = openSync(this.file, 'a', 0o600);
    this.size = 0;
  }
}
