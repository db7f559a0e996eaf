import { status } from '@grpc/grpc-js';
import type { HoldfastError } from '../errors';
import { NUMBERS } from '../numbers';
import { pauseBeforeRepeat } from '../pauses';

const { callIsRepeated, idempotentCallIsRepeated, credentialIsFetchedOnceMore } = NUMBERS.reasons;
const REPEATED: ReadonlySet<string> = new Set(callIsRepeated);
const REPEATED_IF_IDEMPOTENT: ReadonlySet<string> = new Set(idempotentCallIsRepeated);
const CREDENTIAL: ReadonlySet<string> = new Set(credentialIsFetchedOnceMore);

/** Whether the next attempt needs another connection. A status without a reason comes from the gRPC library or a proxy. */
export function isBroken({ reason, code }: HoldfastError): boolean {
  return code === status.UNAVAILABLE || (reason === '' && code === status.DEADLINE_EXCEEDED);
}

/** Decides whether a failed attempt is repeated. All calls and streams share these rules. */
export class Repetition {
  private failures = 0;
  private credentialFailures = 0;

  /** @param isIdempotent a second run does no harm */
  constructor(private readonly isIdempotent: boolean) {}

  /** The server has answered, so the next failure is a first one. */
  answered(): void {
    this.failures = 0;
    this.credentialFailures = 0;
  }

  /**
   * The pause before the next attempt (ms). Undefined: a repetition cannot help. A credential is fetched anew once.
   *
   * @param isSent false: the attempt has failed before it reached the network
   */
  pauseAfter(error: HoldfastError, isSent = true): number | undefined {
    if (isSent && CREDENTIAL.has(error.reason)) return ++this.credentialFailures > 1 ? undefined : 0;
    if (isSent && !this.isRepeated(error)) return undefined;
    this.failures += 1;
    return pauseBeforeRepeat(this.failures, error.retryAfterMs);
  }

  private isRepeated(error: HoldfastError): boolean {
    if (REPEATED.has(error.reason)) return true;
    if (!this.isIdempotent) return false;
    // An unknown reason is treated as its code says.
    if (error.reason !== '') return REPEATED_IF_IDEMPOTENT.has(error.reason) || isBroken(error);
    // A reset stream is INTERNAL, and so is a message that can never be encoded: repeated once.
    return isBroken(error) || (error.code === status.INTERNAL && this.failures === 0);
  }
}
