import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { compareEvents, type EventBody, type History, type HistoryEvent, type Micros } from './history';

/** The clock of every history. Node reads CLOCK_MONOTONIC, which all processes of the machine share. */
export function monotonicMicros(): Micros {
  return Number(process.hrtime.bigint() / 1000n);
}

/** Names a lease by a hash, because a lease_id is an authority and must not be written to files. */
export function hashLeaseId(leaseId: string): string {
  return createHash('sha256').update(leaseId).digest('hex').slice(0, 16);
}

export interface EventSink {
  write(event: HistoryEvent): void;
}

/** Adds time and order to events. The sink has written an event when `record` returns, so a SIGKILL loses no event. */
export class Recorder {
  private seq = 0;

  constructor(
    readonly source: string,
    private readonly sink: EventSink,
    private readonly clock: () => Micros = monotonicMicros,
  ) {}

  now(): Micros {
    return this.clock();
  }

  /** Records an event. A receipt must pass `at`, with a time that was read before all other work. */
  record(body: EventBody, at: Micros = this.clock()): HistoryEvent {
    this.seq += 1;
    const event = { at, source: this.source, seq: this.seq, ...body } as HistoryEvent;
    this.sink.write(event);
    return event;
  }
}

export class MemorySink implements EventSink {
  readonly events: HistoryEvent[] = [];

  write(event: HistoryEvent): void {
    this.events.push(event);
  }

  history(): History {
    return [...this.events].sort(compareEvents);
  }
}

/** Writes each event by one write(2), so a SIGKILL of this process loses no recorded event. */
export class FileSink implements EventSink {
  private readonly fd: number;

  constructor(readonly path: string) {
    this.fd = openSync(path, 'a');
  }

  write(event: HistoryEvent): void {
    writeSync(this.fd, `${JSON.stringify(event)}\n`);
  }

  close(): void {
    closeSync(this.fd);
  }
}

/** Reads the whole lines within the last `maxBytes` of a file that is still being written. */
export function readHistoryTail(path: string, maxBytes: number): HistoryEvent[] {
  const fd = openSync(path, 'r');
  try {
    const { size } = fstatSync(fd);
    const from = Math.max(0, size - maxBytes);
    const bytes = Buffer.alloc(size - from);
    const lines = bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, from)).split('\n');
    return parseLines(path, from === 0 ? lines : lines.slice(1));
  } finally {
    closeSync(fd);
  }
}

/** Reads a file. An incomplete last line is left out, because its process died during the write. */
export function readHistoryFile(path: string): HistoryEvent[] {
  return parseLines(path, readFileSync(path, 'utf8').split('\n'));
}

function parseLines(path: string, lines: string[]): HistoryEvent[] {
  lines.pop();
  return lines.map((line, index) => {
    try {
      return JSON.parse(line) as HistoryEvent;
    } catch (error) {
      throw new Error(`${path}:${index + 1} is not an event: ${line.slice(0, 80)}`, { cause: error });
    }
  });
}

/** Merges the histories of several processes in order of time. */
export function mergeHistories(...histories: readonly (readonly HistoryEvent[])[]): History {
  return histories.flat().sort(compareEvents);
}

export function readHistory(paths: readonly string[]): History {
  return mergeHistories(...paths.map(readHistoryFile));
}
