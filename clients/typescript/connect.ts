import { checkedSignal, unlessAborted } from './calls/abort';
import { CallChannel } from './calls/call-channel';
import { CALL, timeoutOf, type CallOptions } from './calls/call-options';
import { withCaller } from './caller-stack';
import { addressList, type Addresses } from './connection/addresses';
import { checkTls, type TlsOptions } from './connection/tls';
import { tokenSource, type TokenOption } from './connection/token';
import { refuseTokenWithoutTls } from './connection/transport-security';
import { HoldfastClient, type Holdfast } from './holdfast';
import { metadataMap, type Metadata } from './leases/metadata';
import { checkedOptions, type Known } from './known-options';
import { NUMBERS } from './numbers';
import { grpcWires } from './sessions/grpc-wire';
import { SessionClient } from './sessions/session-client';
import { newsLog } from './sessions/session-news';
import { checkTelemetry, type Telemetry } from './telemetry';
import { checkedMetadata, checkedText } from './texts';
import { toPositiveMs, type TimeSpan } from './time-span';

export interface ConnectOptions extends CallOptions, Telemetry {
  /** `true`: TLS with the certificate authorities of Node. Default: no TLS. */
  readonly tls?: TlsOptions | true | undefined;
  /** A bearer token for the sessions and calls. Needs `tls`, unless all addresses are loopback addresses. Default: none. */
  readonly token?: TokenOption | undefined;
  /** Sends the token without TLS to other machines, where anybody on the way can use the token. Default: false. */
  readonly allowInsecureToken?: boolean | undefined;
  /** A label of this process that others see beside its leases. Default: empty. */
  readonly holderId?: string | undefined;
  /** The metadata of each lease without metadata of its own. */
  readonly metadata?: Metadata | undefined;
  /** Ends the wait for the first answer. `connect` rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The longest wait of `connect` for one of several addresses, before the next one is asked. Range: greater than 0.
   * Default: its share of `timeout`, and at most 5 s.
   */
  readonly addressTimeout?: TimeSpan | undefined;
  /** The longest wait for the first answer of a server. Default: 10 s. */
  readonly timeout?: TimeSpan | undefined;
}

const CONNECT: Known<ConnectOptions> = {
  ...CALL,
  ...{ tls: true, token: true, allowInsecureToken: true, holderId: true, metadata: true },
  ...{ logger: true, tracer: true, addressTimeout: true },
};

/**
 * Connects to one of several servers of the same store: `await connect('127.0.0.1:50051')`. Rejects with a HoldfastError
 * if no server answers in time, if the servers refuse the credential, or if a token would go without TLS.
 *
 * @param addresses "host:port", several as an array or separated by commas
 */
export async function connect(addresses: Addresses, options: ConnectOptions = {}): Promise<Holdfast> {
  const { tls, tracer, logger, holderId, metadata = {}, addressTimeout } = checkedOptions(options, CONNECT);
  const list = addressList(addresses);
  checkTls(tls);
  checkTelemetry(options);
  const timeoutMs = timeoutOf(options, NUMBERS.limits.connectMs);
  checkedSignal(options.signal)?.throwIfAborted();
  const token = tokenSource(options.token);
  if (token && tls === undefined && options.allowInsecureToken !== true) refuseTokenWithoutTls(list);
  const onNews = newsLog(logger);
  const session = new SessionClient({
    addresses: list,
    openWire: grpcWires(tls),
    token,
    holderId: checkedText('holderId', holderId ?? ''),
    metadata: checkedMetadata(metadataMap(metadata)),
    onNews,
    addressTimeoutMs:
      addressTimeout === undefined ? undefined : toPositiveMs(addressTimeout, 'addressTimeout'),
  });
  try {
    await withCaller(connect, () => ready(session, timeoutMs, options.signal));
  } catch (error) {
    await session.close(0);
    throw error;
  }
  // The first calls go to the server that has answered, because an earlier address may hang.
  const channel = new CallChannel({ servers: session.servers.again(), tls, token, tracer });
  return new HoldfastClient(session, channel, onNews, tracer);
}

/** Rejects with the signal's reason when the signal aborts. The caller closes the session then. */
function ready(session: SessionClient, timeoutMs: number, signal: AbortSignal | undefined): Promise<void> {
  const answer = session.ready(timeoutMs);
  return signal === undefined ? answer : unlessAborted(answer, signal);
}
