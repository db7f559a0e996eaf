import { status } from '@grpc/grpc-js';
import { CredentialError, textOf, type HoldfastError } from '../errors';
import { NUMBERS } from '../numbers';

const CREDENTIAL_REASONS: ReadonlySet<string> = new Set(NUMBERS.reasons.credentialIsFetchedOnceMore);

/** The servers refuse the token or the certificate. A proxy gives no reason. */
export function isRefusedCredential({ reason, code }: HoldfastError): boolean {
  return CREDENTIAL_REASONS.has(reason) || code === status.UNAUTHENTICATED;
}

/** No next session can help, if none has started yet. A proxy that refuses the caller gives no reason. */
export function isFinalAtConnect({ reason, code }: HoldfastError): boolean {
  return (
    NUMBERS.reasons.connectFails.includes(reason) || (reason === '' && code === status.PERMISSION_DENIED)
  );
}

/** The file or the function of the caller gives no token. */
export function noToken(cause: unknown): HoldfastError {
  const facts = { reason: 'NO_CREDENTIAL', code: status.UNAUTHENTICATED };
  return new CredentialError(`the client has no token: ${textOf(cause)}`, facts, { cause });
}

/** A PEM file cannot be read, or is no certificate or key. */
export function unreadableCertificate(cause: unknown): HoldfastError {
  const facts = { reason: 'NO_CREDENTIAL', code: status.UNAUTHENTICATED };
  return new CredentialError(`the connection has no certificate: ${textOf(cause)}`, facts, { cause });
}
