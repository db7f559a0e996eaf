import type { X509Certificate } from 'node:crypto';
import { type ErrorDetails, HoldfastError, type Reason } from '../base/errors';

export interface Caller {
  /**
   * `spiffe://…`, `dns:…`, `jwt:<issuer>#<claim>` or `token:…`; at most 256 bytes, no control characters. Empty: no
   * authentication is configured.
   */
  readonly identity: string;
  /**
   * The end of the credential on the monotonic clock (ms). Infinity: the credential does not end. The end may change
   * while a call is open, for example when an operator removes a token.
   */
  readonly expiresAt: number;
  /** The callers by each credential, if the call has several. The call ends with the first of them. */
  readonly parts?: readonly Caller[] | undefined;
}

/** The client certificate of a connection. */
export interface PresentedCertificate {
  readonly certificate: X509Certificate;
  /** Why TLS did not verify the certificate, for the log. Undefined: the certificate is verified. */
  readonly problem: string | undefined;
}

/** The evidence that a call brings for its caller. */
export interface PresentedCredentials {
  /** The values of the metadata `authorization`. */
  readonly authorization: readonly string[];
  /** Identifies the connection. An authenticator may keep results per connection. */
  readonly connection: object;
  /** Undefined: the client presented no certificate, or the connection has no TLS. */
  peerCertificate(): PresentedCertificate | undefined;
}

/** Proves the caller of a call. */
export interface Authenticator {
  /**
   * Throws or rejects with a HoldfastError NO_CREDENTIAL or BAD_CREDENTIAL. Answers without a promise if the credential
   * is known already.
   */
  authenticate(call: PresentedCredentials): Caller | Promise<Caller>;
  /** The caller, if `authenticate` would answer it without a promise. Starts no check, and never throws. */
  known(call: PresentedCredentials): Caller | undefined;
  close(): void;
}

/** A refused credential. The client gets `message`. Only the log gets `detail`, because details help an attacker. */
export class CredentialError extends HoldfastError {
  constructor(
    reason: Extract<Reason, 'NO_CREDENTIAL' | 'BAD_CREDENTIAL'>,
    message: string,
    readonly detail: string,
    details: ErrorDetails = {},
  ) {
    super(reason, message, details);
  }
}

/** The kinds of credentials that a server accepts. */
export interface WaysIn {
  /** Tokens of the token file, or JSON web tokens. */
  readonly bearer: boolean;
  readonly certificate: boolean;
}

/** @param isUnread the connection was closed before its certificate was read, so there may have been one */
export function noCredential({ bearer, certificate }: WaysIn, isUnread = false): CredentialError {
  const remedies = [
    ...(bearer ? ['send the metadata "authorization: Bearer <token>"'] : []),
    ...(certificate ? ['connect with a client certificate'] : []),
  ];
  const message = `the call has no credential, and this server requires one: ${remedies.join(', or ')}`;
  const detail = isUnread
    ? 'the call has no token, and its connection was closed before its certificate was read'
    : 'the call has no credential';
  return new CredentialError('NO_CREDENTIAL', message, detail);
}

export function malformedCredential(detail: string): CredentialError {
  return new CredentialError(
    'BAD_CREDENTIAL',
    'the credential is malformed: send one value "Bearer <token>" of at most 8 KiB in the metadata "authorization"',
    detail,
  );
}

export function expiredCredential(detail: string): CredentialError {
  return new CredentialError('BAD_CREDENTIAL', 'the credential has expired: get a new one', detail);
}

export function refusedCredential(detail: string): CredentialError {
  return new CredentialError(
    'BAD_CREDENTIAL',
    'the credential is not accepted: get a credential that this server accepts',
    detail,
  );
}

/** The credential of an open call has ended. */
export function endedCredential(): CredentialError {
  return new CredentialError(
    'BAD_CREDENTIAL',
    'the credential of this call has ended: get a new one and repeat the call; leases that were granted continue until their ttl ends',
    'the credential of an open call has ended',
  );
}

/** The credential may be good, but the server has no keys for the check. */
export function uncheckedCredential(detail: string): CredentialError {
  return new CredentialError(
    'BAD_CREDENTIAL',
    'the credential cannot be checked at present, because this server has no current keys of the issuer: try again later',
    detail,
    { retryAfterMs: 1000 },
  );
}
