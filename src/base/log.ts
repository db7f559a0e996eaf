import type { IncomingHttpHeaders } from 'node:http2';
import type { Metadata } from '@grpc/grpc-js';
import type { Clock, Timer } from './clock';
import { escapeText } from './text';

/** The part of a logger that the server uses. A pino logger has this shape. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What connects a call with the logs and traces of its caller. */
export interface CallTrace {
  /** The W3C trace context of the caller. */
  readonly traceparent?: string;
  /** The header `x-request-id`, escaped. Not the `request_id` of a lease, which is a secret. */
  readonly callId?: string;
}

/** The form of the versions of the W3C recommendation; later versions may add more fields. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
/** Longer ids are cut. */
const MAX_ID_CHARS = 128;

/** Undefined: the call has no valid trace context. */
export function traceparentOf(metadata: Metadata): string | undefined {
  return validTraceparent(metadata.get('traceparent')[0]);
}

/** The trace of a call. A header that is not valid is left out. */
export function traceOf(metadata: Metadata): CallTrace {
  return traceOfValues(metadata.get('traceparent')[0], metadata.get('x-request-id')[0]);
}

/** As `traceOf`, for a call that has not begun. */
export function traceOfHeaders(headers: IncomingHttpHeaders): CallTrace {
  return traceOfValues(headers['traceparent'], headers['x-request-id']);
}

function traceOfValues(traceparent: unknown, id: unknown): CallTrace {
  const valid = validTraceparent(traceparent);
  return {
    ...(valid !== undefined && { traceparent: valid }),
    ...(typeof id === 'string' && id !== '' && { callId: escapeText(id.slice(0, MAX_ID_CHARS)) }),
  };
}

function validTraceparent(value: unknown): string | undefined {
  return typeof value === 'string' && TRACEPARENT.test(value) ? value : undefined;
}

/** The address of a peer such as `10.0.0.7:50000`. */
export function addressOf(peer: string): string {
  return peer.replace(/:\d+$/, '');
}

/** Stands in the log for an address. */
export const SEVERAL_ADDRESSES = 'several addresses';

export interface SampleBounds {
  readonly intervalMs: number;
  /** The most lines with one key in one interval. */
  readonly linesOfKey: number;
  /** The bound of keys with lines of their own in one interval. All further keys share their lines. */
  readonly keys: number;
}

interface Counter {
  lines: number;
  suppressed: number;
  readonly counted: () => object;
}

/** The key of all keys above their bound. */
const FURTHER = '';

/**
 * Writes the first lines of each key in an interval. A flood of events costs few lines, and does not hide the events of
 * other keys. Events without a line are counted in a line at the end of the interval.
 */
export class SampledLines {
  private readonly counters = new Map<string, Counter>();
  private timer: Timer | undefined;

  /** @param message the message of the lines with counts */
  constructor(
    private readonly log: Log,
    private readonly clock: Clock,
    private readonly bounds: SampleBounds,
    private readonly message: string,
  ) {}

  /** @param counted the fields of the line with the count of `key`, or of several keys */
  add(key: string, counted: (isSeveral: boolean) => object, write: () => void): void {
    const isSeveral = !this.counters.has(key) && this.counters.size >= this.bounds.keys;
    const counter = this.counterOf(isSeveral ? FURTHER : key, () => counted(isSeveral));
    if (counter.lines >= this.bounds.linesOfKey) {
      counter.suppressed += 1;
      return;
    }
    counter.lines += 1;
    write();
  }

  /** Writes the counts. */
  close(): void {
    this.timer?.cancel();
    this.endInterval();
  }

  private counterOf(key: string, counted: () => object): Counter {
    let counter = this.counters.get(key);
    if (counter === undefined) this.counters.set(key, (counter = { lines: 0, suppressed: 0, counted }));
    this.timer ??= this.clock.after(this.bounds.intervalMs, () => this.endInterval());
    return counter;
  }

  private endInterval(): void {
    this.timer = undefined;
    for (const { suppressed, counted } of this.counters.values()) {
      if (suppressed > 0) this.log.warn({ ...counted(), suppressed }, this.message);
    }
    this.counters.clear();
  }
}
