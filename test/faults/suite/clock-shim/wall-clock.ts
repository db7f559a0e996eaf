import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const NANOS_PER_MS = 1_000_000;

/** A wall clock of one or more processes. A test can step the clock while the processes run. */
export class WallClock {
  /** The environment of a process that uses this clock. */
  readonly env: Readonly<Record<string, string>>;
  private readonly file: number;
  private stepMs = 0;
  private highest = 0;

  constructor(shimPath: string, folder: string, name: string) {
    const path = join(folder, `${name}.step`);
    this.file = openSync(path, 'w+');
    this.env = { LD_PRELOAD: shimPath, TEST_CLOCK_STEP_FILE: path };
    this.step(0);
  }

  /** How far this clock is ahead of the machine's clock now (ms); negative: behind. */
  get offMs(): number {
    return this.stepMs;
  }

  /** The furthest that this clock has been ahead of the machine's clock so far (ms). */
  get highestMs(): number {
    return this.highest;
  }

  /** Moves the clock by `ms`, forward or back. */
  step(ms: number): void {
    this.stepMs += ms;
    this.highest = Math.max(this.highest, this.stepMs);
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(Math.round(this.stepMs * NANOS_PER_MS)));
    // A single write of eight aligned bytes, so that no reader sees a half-written value.
    writeSync(this.file, bytes, 0, bytes.length, 0);
  }

  close(): void {
    closeSync(this.file);
  }
}
