import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { isRunning } from './processes';

export interface LateWrites {
  /** Writes with the old token after the grant of a newer one. */
  readonly lateWrites: number;
  readonly writes: number;
  /** Writers that still ran at the moment of the next grant. */
  readonly survivors: readonly number[];
  /** The time from the last write to the next grant. */
  readonly gapMs: number;
}

/**
 * The store that the lock protects: a file to which the commands append. The kernel puts appends in order at once, so no
 * buffer between a command and the store can hide a late write, or make an early one late.
 */
export class ProtectedStore {
  private survivors: number[] = [];

  constructor(readonly file: string) {
    writeFileSync(file, '');
  }

  /** The ids of the processes that have written. */
  get writers(): number[] {
    return [...new Set(this.lines('write').map(([, , pid]) => Number(pid)))];
  }

  /** Call at once when the next holder is granted. */
  granted(token: bigint): void {
    appendFileSync(this.file, `grant ${token} 0 ${process.hrtime.bigint()}\n`);
    this.survivors = this.writers.filter(isRunning);
  }

  count(): LateWrites {
    let highest = 0n;
    let lateWrites = 0;
    const writes = this.lines('write');
    const last = (lines: string[][]) => Number(lines.at(-1)?.[3] ?? NaN);
    const gapMs = (last(this.lines('grant')) - last(writes)) / 1e6;
    for (const [kind, token = '0'] of this.lines()) {
      if (kind === 'grant') highest = BigInt(token);
      else if (BigInt(token) < highest) lateWrites += 1;
    }
    return { lateWrites, writes: writes.length, survivors: this.survivors, gapMs };
  }

  private lines(kind = ''): string[][] {
    const lines = readFileSync(this.file, 'utf8').trimEnd().split('\n');
    return lines.filter((line) => line.startsWith(kind) && line !== '').map((line) => line.split(' '));
  }
}
