import { CallChannel } from './calls/call-channel';
import { addressList, type Addresses } from './connection/addresses';
import type { TlsOptions } from './connection/tls';
import { tokenSource, type TokenOption } from './connection/token';
import { Holdfast } from './holdfast';
import { metadataMap, type Metadata } from './leases/metadata';
import { NUMBERS } from './numbers';
import { grpcWires } from './sessions/grpc-wire';
import { SessionClient } from './sessions/session-client';
import { newsLog } from './sessions/session-news';
import type { Logger, Tracer } from './telemetry';
import { toMs, type TimeSpan } from './time-span';

export interface ConnectOptions {
  /** `true`: TLS with the certificate authorities of Node. Default: no TLS. */
  readonly tls?: TlsOptions | true;
  /** A bearer token for the sessions and calls. Default: none. */
  readonly token?: TokenOption;
  /** A label of this process that others see beside its leases. Default: empty. */
  readonly holderId?: string;
  /** The metadata of each lease without metadata of its own. */
  readonly metadata?: Metadata;
  /** The longest wait for the first answer of a server. Default: 10 s. */
  readonly connectTimeout?: TimeSpan;
  /** Default: no messages. */
  readonly logger?: Logger;
  /** A tracer of OpenTelemetry. Default: no spans. */
  readonly tracer?: Tracer;
}

/**
 * Connects to one of several servers of the same store: `await connect('127.0.0.1:50051')`. Rejects with a HoldfastError
 * if no server answers in time, or if the servers refuse the credential.
 *
 * @param addresses "host:port", several as an array or separated by commas
 */
export async function connect(addresses: Addresses, options: ConnectOptions = {}): Promise<Holdfast> {
  const { tls, tracer, logger, holderId, metadata = {} } = options;
  const list = addressList(addresses);
  const timeoutMs = toMs(options.connectTimeout ?? NUMBERS.limits.connectMs, 'connectTimeout');
  const token = tokenSource(options.token);
  const session = new SessionClient({
    addresses: list,
    openWire: grpcWires(tls),
    token,
    holderId: holderId ?? '',
    metadata: metadataMap(metadata),
    onNews: newsLog(logger),
  });
  try {
    await session.ready(timeoutMs);
  } catch (error) {
    await session.close(0);
    throw error;
  }
  return new Holdfast(session, new CallChannel({ addresses: list, tls, token, tracer }), tracer);
}
