import type { IncomingHttpHeaders } from 'node:http2';
import type { Reason } from '../../base/errors';
import type { Access, ArrivingCall } from '../../access/access';
import type { CallerCounts } from '../caller-counts';
import type { PresentedCertificate } from '../../access/caller';
import type { CallGateOptions } from './gate';
import type { CallMeters } from './call-meters';
import { type CallTrace, traceOf, traceOfHeaders } from '../../base/meters';
import { REASON_TRAILER } from '../call-errors';
import type { OfferedCall } from '../service';
import { type OnRefusedHandshake, peerCertificateOf, peerOf } from './grpc-js';
import type { OnRefused } from './intake';

/** A call that no handler has. */
class UnbegunCall implements ArrivingCall {
  constructor(
    readonly method: string,
    readonly connection: object,
    readonly authorization: readonly string[],
    private readonly readTrace: () => CallTrace,
  ) {}

  /** The identity that is proven already. Empty: none is, or a check would be needed. */
  identity = '';

  get peer(): string {
    return peerOf(this.connection).text;
  }

  get trace(): CallTrace {
    return this.readTrace();
  }

  peerCertificate(): PresentedCertificate | undefined {
    return peerCertificateOf(this.connection);
  }
}

function arrived(headers: IncomingHttpHeaders, session: object): UnbegunCall {
  const { authorization = [] } = headers;
  const trace = (): CallTrace => traceOfHeaders(headers);
  return new UnbegunCall(String(headers[':path']), session, [authorization].flat(), trace);
}

/** The calls that no handler has: proves their callers for the gate, and counts those that are refused. */
export class UnbegunCalls {
  constructor(
    private readonly counts: CallerCounts,
    private readonly meters: CallMeters,
    /** The calls of the server, by path. Those of the contract count for their caller when it is proven. */
    private readonly offered: ReadonlyMap<string, OfferedCall>,
    private readonly access: Access | undefined,
  ) {}

  forGate(): Omit<CallGateOptions, 'clock' | 'kindOf'> {
    const { access, counts, meters } = this;
    return {
      onArrived: (path, session) => {
        if (!this.isOfContract(path)) counts.called('', session);
      },
      onRefused: (headers, session, answer) => {
        const call = arrived(headers, session);
        meters.refused(call.method, Number(answer['grpc-status']));
        this.refused(call, String(answer[REASON_TRAILER]) as Reason, false);
      },
      ...(access && {
        isProven: (headers, session) => access.knows(arrived(headers, session)),
        prove: (headers, session) => access.prove(arrived(headers, session)),
      }),
    };
  }

  /** `hasBegun`: the handler has counted the call. */
  readonly refusedAtIntake: OnRefused = ({ metadata, connection = {} }, path, { reason }, hasBegun) => {
    const authorization = metadata.get('authorization') as string[];
    const call = new UnbegunCall(path, connection, authorization, () => traceOf(metadata));
    this.refused(call, reason, hasBegun);
  };

  /** The client proves nothing, and makes no call. */
  readonly refusedHandshake: OnRefusedHandshake = (peer, problem) => {
    this.access?.refusedHandshake(peer.text, problem);
    this.counts.refusedAt(peer.address, 'BAD_CREDENTIAL');
  };

  private isOfContract(path: string): boolean {
    return this.offered.get(path)?.rule !== undefined;
  }

  private refused(call: UnbegunCall, reason: Reason, hasBegun: boolean): void {
    const { access, counts } = this;
    const isOfContract = this.isOfContract(call.method);
    if (isOfContract && access !== undefined) call.identity = access.identityOf(call);
    const isCounted = hasBegun || !isOfContract;
    counts.refused(call, isCounted ? counts.of(call.identity, call.connection) : undefined, reason);
  }
}
