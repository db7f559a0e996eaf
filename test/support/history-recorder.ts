import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { compareEvents, type EventBody, type History, type HistoryEvent, type Micros } from './history';

/** The clock of every history: Node reads CLOCK_MONOTONIC here, so processes can be compared. */
export function monotonicMicros(): Micros {
  return Number(process.hrtime.bigint() / 1000n);
}

/** A lease_id is an authority and does not belong in files; its hash names the lease as well. */
export function hashLeaseId(leaseId: string): string {
  return createHash('sha256').update(leaseId).digest('hex').slice(0, 16);
}

export interface EventSink {
  write(event: HistoryEvent): void;
}

/** Stamps events and hands them to the sink before the caller goes on, so that a SIGKILL loses none. */
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

  /** `at` is for what was received: the time is read first, the rest takes a moment. */
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

/** One write(2) per event: what reached the kernel outlives the process that wrote it. */
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

/** The last of a file that is still written to, from the first line that begins within so many bytes. */
export function readHistoryTail(path: string, mostBytes: number): HistoryEvent[] {
  const fd = openSync(path, 'r');
  try {
    const { size } = fstatSync(fd);
    const from = Math.max(0, size - mostBytes);
    const bytes = Buffer.alloc(size - from);
    const lines = bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, from)).split('\n');
    return parseLines(path, from === 0 ? lines : lines.slice(1));
  } finally {
    closeSync(fd);
  }
}

/** Reads one file; a last line without its end was being written when its process died, and is left out. */
export function readHistoryFile(path: string): HistoryEvent[] {
  return parseLines(path, readFileSync(path, 'utf8').split('\n'));
}

function parseLines(path: string, lines: string[]): HistoryEvent[] {
  lines.pop();
  return lines.map((line, index) => {
    try {
      return JSON.parse(line) as HistoryEvent;
    } catch (error) {
      throw new Error(`${path}:${index + 1} is no event: ${line.slice(0, 80)}`, { cause: error });
    }
  });
}

/** Brings the histories of many processes into one order. */
export function mergeHistories(...histories: readonly (readonly HistoryEvent[])[]): History {
  return histories.flat().sort(compareEvents);
}

export function readHistory(paths: readonly string[]): History {
  return mergeHistories(...paths.map(readHistoryFile));
}
