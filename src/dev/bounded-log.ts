import { closeSync, existsSync, mkdirSync, openSync, renameSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * A log file that never takes more than twice its limit: when it is full it becomes `<file>.1`, in place of the
 * one before. Written synchronously, so that the last words of a dying process are there.
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

  /** A full disk or a folder that is gone costs the log, never the process that is being logged. */
  write(chunk: Uint8Array): void {
    try {
      if (this.size + chunk.length > this.limitBytes) this.turnOver();
      writeSync(this.descriptor, chunk);
      this.size += chunk.length;
    } catch {
      // There is nowhere left to say it.
    }
  }

  private turnOver(): void {
    closeSync(this.descriptor);
    if (existsSync(this.file)) renameSync(this.file, `${this.file}.1`);
    this.descriptor = openSync(this.file, 'a', 0o600);
    this.size = 0;
  }
}
