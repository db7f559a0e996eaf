import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const NANOS_PER_MS = 1_000_000;

/** The wall clock of one process, or of several, that can be stepped while they run. */
export class WallClock {
  /** To be added to the environment of whoever is to have this clock. */
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

  /** How far it is from the machine's. */
  get offMs(): number {
    return this.stepMs;
  }

  /** How far it was at most. */
  get highestMs(): number {
    return this.highest;
  }

  /** From now on the clock is so much further than it was. */
  step(ms: number): void {
    this.stepMs += ms;
    this.highest = Math.max(this.highest, this.stepMs);
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(Math.round(this.stepMs * NANOS_PER_MS)));
    // One write of eight aligned bytes, so that nobody reads half of it.
    writeSync(this.file, bytes, 0, bytes.length, 0);
  }

  close(): void {
    closeSync(this.file);
  }
}
