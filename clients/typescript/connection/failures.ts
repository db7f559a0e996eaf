import { status } from '@grpc/grpc-js';
import { CredentialError, errorOf, textOf, type HoldfastError } from '../errors';
import { NUMBERS } from '../numbers';

const CREDENTIAL_REASONS: ReadonlySet<string> = new Set(NUMBERS.reasons.credentialIsFetchedOnceMore);

/** The servers refuse the token or the certificate. A proxy gives no reason. */
export function isRefusedCredential({ reason, code }: HoldfastError): boolean {
  return CREDENTIAL_REASONS.has(reason) || code === status.UNAUTHENTICATED;
}

/** The file or the function of the caller gives no token. */
export function noToken(cause: unknown): HoldfastError {
  const facts = { reason: 'NO_CREDENTIAL', code: status.UNAUTHENTICATED };
  return new CredentialError(`the client has no token: ${textOf(cause)}`, facts, { cause });
}

/** A PEM file cannot be read, or is no certificate. */
export function unreadableCertificate(cause: unknown): HoldfastError {
  const facts = { reason: '', code: status.FAILED_PRECONDITION };
  return errorOf(`the connection has no certificate: ${textOf(cause)}`, facts, { cause });
}
