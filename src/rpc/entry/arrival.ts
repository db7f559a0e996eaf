import type { ArrivingCall } from '../../access/access';
import type { PresentedCertificate } from '../../access/caller';
import type { HoldfastError } from '../../base/errors';
import type { CallTrace } from '../../base/log';
import type { Priority } from '../../flow/fair-queue';
import { Reader } from './reading-turns';

/** What holds for each request of a call. */
export interface CallKind {
  readonly priority: Priority;
  readonly unary: boolean;
  /**
   * The bound of a request message. Its caller is proven before the request is received. Undefined: MAX_REQUEST_BYTES.
   */
  readonly bytes?: number | undefined;
  /** Whether the call is a health check, which is urgent without a credential. */
  readonly isProbe?: boolean;
  /** Whether the call needs no credential. */
  readonly isOpen?: boolean;
  /** Whether the call has a verb, so that it counts for its caller when the caller is proven. Other calls count when they arrive. */
  readonly hasRule?: boolean;
  /** Whether the server answers with a stream of messages. */
  readonly responseStream?: boolean;
  /**
   * Whether the client moves the stream to another connection by itself, so that the stream continues after its connection
   * has reached its maximum age.
   */
  readonly moves?: boolean;
}

/** A method that the server does not have gets its error with low priority. */
export const UNKNOWN_CALL: CallKind = { priority: 'low', unary: true };

/** A connection, with its calls that have not ended. A door says how its connections are read and cut. */
export abstract class CallSource extends Reader {
  unaryCount = 0;
  urgentCount = 0;
  anonymousCount = 0;

  /** @param network the network of the client: see `networkOf` */
  constructor(readonly network: string) {
    super();
  }

  /** Ends the connection, for a client that costs too much. */
  abstract cut(): void;
}

/**
 * A call from its headers on, whatever door it has come in by. The gate lets it begin or refuses it, and `access` proves
 * its caller.
 */
export abstract class Arrival implements ArrivingCall {
  /** The identity that was proven before the call was refused. Empty: none. */
  identity = '';
  /** Monotonic time (ms). */
  arrivedAt = 0;
  /** Lower than that of the kind, if the caller is not proven. */
  priority: Priority;

  constructor(
    readonly kind: CallKind,
    readonly source: CallSource,
  ) {
    this.priority = kind.priority;
  }

  abstract readonly method: string;
  abstract readonly peer: string;
  abstract readonly connection: object;
  abstract readonly trace: CallTrace;
  abstract readonly authorization: readonly string[];
  abstract peerCertificate(): PresentedCertificate | undefined;

  /** The time within which the client wants its answer, from the arrival on (ms). Undefined: it waits for any time. */
  abstract readonly timeoutMs: number | undefined;
  /** Whether the client has ended the call. */
  abstract readonly isClosed: boolean;
  /** Prepares the call for not beginning now. The client may end it, or its request, meanwhile. */
  abstract hold(): void;
  /** Passes the call to its handler. @param waitedMs the part of the client's time that is over */
  abstract serve(waitedMs: number): void;
  /** Answers the call with this error. The rest of its request is not kept. */
  abstract refuse(error: HoldfastError): void;
  /** Runs `listener` once when the call has ended and its answer is written. */
  abstract onClose(listener: () => void): void;
}

/** The IPv4 address, or the first 64 bits of the IPv6 address: one client may have all addresses of such a network. */
export function networkOf(address: string): string {
  const ipv4 = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (ipv4?.[1] !== undefined) return ipv4[1];
  const [before = '', after = ''] = address.split('::');
  const groups = before.split(':').filter(Boolean);
  const rest = after.split(':').filter(Boolean);
  const zeros = Array<string>(Math.max(0, 8 - groups.length - rest.length)).fill('0');
  return [...groups, ...zeros, ...rest].slice(0, 4).join(':');
}
