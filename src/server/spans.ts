import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Tracer,
} from '@opentelemetry/api';
import type { CountedLoss, Service } from '../leases/lease';
import type { LeaseObserver, ObservedCall } from '../leases/lease-observer';
import type { CallSpans, EndedCall } from '../rpc/entry/call-spans';

interface SpanFacts {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly isError: boolean;
  readonly traceparent: string | undefined;
  /** Monotonic times (ms). */
  readonly startedAt: number;
  readonly endedAt: number;
}

/** The statuses that are faults of the server, by the semantic conventions of OpenTelemetry for RPC servers. */
const FAULTS: ReadonlySet<number> = new Set([2, 4, 12, 13, 14, 15]);

/**
 * The spans of a server: one for each unary call, and one for each grant, release and loss of a lease of a stream or a
 * session. A span is made at its end, so a stream that lives for days has no span of its own length. No span has a name of a
 * lock, a holder or an identity.
 *
 * Spans must not harm calls: after the first error of the SDK there are no more spans, and the log says so.
 */
export class Spans implements CallSpans, LeaseObserver {
  private isBroken = false;

  constructor(
    private readonly tracer: Tracer,
    private readonly now: () => number,
    private readonly onBroken: (error: unknown) => void,
  ) {}

  ended({ service, method, code, reason, traceparent, startedAt, endedAt }: EndedCall): void {
    this.add({
      name: `${service}/${method}`,
      kind: SpanKind.SERVER,
      attributes: {
        'rpc.system': 'grpc',
        'rpc.service': service,
        'rpc.method': method,
        'rpc.grpc.status_code': code,
        ...(reason !== undefined && { 'holdfast.reason': reason }),
      },
      isError: FAULTS.has(code),
      traceparent,
      startedAt,
      endedAt,
    });
  }

  granted(call: ObservedCall, service: Service, receivedAt: number): void {
    this.addEvent(call, 'grant', { 'holdfast.service': service }, receivedAt);
  }

  released(call: ObservedCall, service: Service): void {
    this.addEvent(call, 'release', { 'holdfast.service': service });
  }

  lost(call: ObservedCall, service: Service, cause: CountedLoss): void {
    this.addEvent(call, 'loss', { 'holdfast.service': service, 'holdfast.cause': cause });
  }

  private addEvent(
    { traceparent }: ObservedCall,
    event: 'grant' | 'release' | 'loss',
    attributes: Attributes,
    startedAt?: number,
  ): void {
    const endedAt = this.now();
    const isError = event === 'loss';
    const kind = SpanKind.INTERNAL;
    const name = `lease ${event}`;
    this.add({ name, kind, attributes, isError, traceparent, startedAt: startedAt ?? endedAt, endedAt });
  }

  private add({ name, kind, attributes, isError, traceparent, startedAt, endedAt }: SpanFacts): void {
    if (this.isBroken) return;
    try {
      const options = { kind, attributes, startTime: startedAt };
      const span = this.tracer.startSpan(name, options, parentOf(traceparent));
      if (isError) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(endedAt);
    } catch (error) {
      this.isBroken = true;
      this.onBroken(error);
    }
  }
}

/** @param traceparent the transport has checked its form: version, trace id, span id and flags in lower-case hex */
function parentOf(traceparent: string | undefined): Context {
  if (traceparent === undefined) return ROOT_CONTEXT;
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  const parent = { traceId, spanId, traceFlags: parseInt(flags, 16), isRemote: true };
  return trace.setSpanContext(ROOT_CONTEXT, parent);
}
