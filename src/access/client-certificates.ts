import type { X509Certificate } from 'node:crypto';
import type { IncomingHttpHeaders, ServerHttp2Session } from 'node:http2';
import type { Clock } from '../base/clock';
import {
  type Caller,
  CredentialError,
  expiredCredential,
  type PresentedCertificate,
  type PresentedCredentials,
  refusedCredential,
} from './caller';
import { identityProblem } from './identity';
import type { OpenCredentials } from './open-credentials';
import { onMonotonicClock, readCertificateTime } from './time-of-day';

/**
 * Tells the client (GOAWAY) to open a new connection for its next call. Open calls continue. Otherwise a client with a
 * new certificate would keep the connection with the old certificate, because no status makes clients connect again.
 */
function retireConnection(connection: object): void {
  const { close } = connection as Partial<ServerHttp2Session>;
  // Node 20 crashes if a session is closed while it is read.
  if (close !== undefined) setImmediate(() => close.call(connection));
}

/** A closed connection has no certificate that could be read. */
export function hasConnectionClosed(connection: object): boolean {
  return (connection as Partial<ServerHttp2Session>).destroyed === true;
}

export function onConnectionClosed(connection: object, listener: () => void): void {
  (connection as Partial<ServerHttp2Session>).once?.('close', listener);
}

/** How long before the end of its certificate a connection is retired (ms), so that no call of a client in time fails. */
const EARLY_MS = 10_000;

/**
 * Proves callers by client certificates. A certificate is read once for each connection. A connection is retired if its
 * certificate is refused, or before its certificate expires.
 */
export class ClientCertificates {
  private readonly ofConnection = new WeakMap<object, Caller | CredentialError>();

  constructor(
    private readonly clock: Clock,
    private readonly open: Pick<OpenCredentials, 'add'>,
  ) {}

  /** The caller of a connection. Undefined: the client presented no certificate. Throws BAD_CREDENTIAL. */
  find(call: PresentedCredentials): Caller | undefined {
    const { connection } = call;
    let known = this.ofConnection.get(connection);
    if (known === undefined) {
      const presented = call.peerCertificate();
      if (presented === undefined) return undefined;
      known = this.judge(presented);
      this.ofConnection.set(connection, known);
      if (!(known instanceof CredentialError)) this.retireInTime(connection, known);
    }
    if (!(known instanceof CredentialError)) {
      if (known.expiresAt > this.clock.now()) return known;
      known = expiredCredential('the client certificate has expired');
    }
    retireConnection(connection);
    throw known;
  }

  private judge(presented: PresentedCertificate): Caller | CredentialError {
    try {
      return this.callerOf(presented);
    } catch (error) {
      if (error instanceof CredentialError) return error;
      throw error;
    }
  }

  private retireInTime(connection: object, { identity, expiresAt }: Caller): void {
    const early = expiresAt - EARLY_MS;
    const end = { identity, expiresAt: early > this.clock.now() ? early : expiresAt };
    const place = this.open.add(end, { credentialEnded: () => retireConnection(connection) });
    onConnectionClosed(connection, () => place.close());
  }

  private callerOf({ certificate, problem }: PresentedCertificate): Caller {
    if (problem === 'CERT_HAS_EXPIRED') throw expiredCredential('the client certificate has expired');
    if (problem !== undefined) throw refusedCredential(`the client certificate is not verified: ${problem}`);
    const identity = identityOf(certificate);
    const endsAtMs = readCertificateTime(certificate.validTo);
    if (Number.isNaN(endsAtMs)) throw refusedCredential('the end of the client certificate cannot be read');
    return { identity, expiresAt: onMonotonicClock(this.clock, endsAtMs) };
  }
}

/** Names with at least one label of letters, digits, hyphens and underscores. A wildcard names no single caller. */
const DNS_NAME = /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/;
/** A SPIFFE ID: a trust domain, and segments without percent signs. */
const SPIFFE_ID = /^spiffe:\/\/[a-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/;

/** The first SPIFFE ID of the certificate, else the first DNS name. The common name is never used. */
function identityOf({ subjectAltName }: X509Certificate): string {
  const names = readAlternativeNames(subjectAltName ?? '');
  const spiffe = names.find(({ kind, value }) => kind === 'URI' && /^spiffe:/i.test(value))?.value;
  if (spiffe !== undefined) {
    if (!SPIFFE_ID.test(spiffe) || /\/\.{1,2}(\/|$)/.test(spiffe)) {
      throw refusedCredential('the first SPIFFE URI of the client certificate is malformed');
    }
    return checked(spiffe);
  }
  const dns = names.find(({ kind }) => kind === 'DNS')?.value.toLowerCase();
  if (dns === undefined)
    throw refusedCredential('the client certificate has neither a SPIFFE URI nor a DNS name');
  if (!DNS_NAME.test(dns))
    throw refusedCredential('the first DNS name of the client certificate is malformed');
  return checked(`dns:${dns}`);
}

function checked(identity: string): string {
  const problem = identityProblem(identity);
  if (problem === undefined) return identity;
  throw refusedCredential(`the name of the client certificate is not accepted: ${problem}`);
}

interface AlternativeName {
  readonly kind: string;
  readonly value: string;
}

/**
 * Reads Node's text of the alternative names: `DNS:a.example, URI:"x, DNS:admin.example"`. Node writes a name with a
 * comma, a quote or another special character as a JSON text, so such a name cannot pass for two names. Throws
 * BAD_CREDENTIAL for a text of another form.
 */
export function readAlternativeNames(text: string): readonly AlternativeName[] {
  const names: AlternativeName[] = [];
  let rest = text;
  while (rest !== '') {
    const [whole, kind, quoted, plain] =
      /^([A-Za-z0-9 ]+):(?:("(?:[^"\\]|\\.)*")|([^,"]*))(?:, |$)/s.exec(rest) ?? [];
    if (whole === undefined || kind === undefined) {
      throw refusedCredential('the alternative names of the client certificate cannot be read');
    }
    names.push({ kind, value: quoted === undefined ? (plain ?? '') : readQuoted(quoted) });
    rest = rest.slice(whole.length);
  }
  return names;
}

function readQuoted(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    throw refusedCredential('the alternative names of the client certificate cannot be read');
  }
}

const NAME = 'authorization';

/**
 * Puts all values of a repeated header `authorization` into the headers, so that the call is refused. Node keeps the
 * first value, and drops the others.
 * @param rawHeaders names and values in turn
 */
export function keepRepeatedAuthorization(headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) if (rawHeaders[index] === NAME) count += 1;
  if (count < 2) return;
  const values = rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1] === NAME);
  Object.assign(headers, { [NAME]: values });
}
