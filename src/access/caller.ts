import type { X509Certificate } from 'node:crypto';

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
