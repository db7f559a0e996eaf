import { errors, jwtVerify, type JWTPayload } from 'jose';
import type { Clock } from '../../engine/clock';
import { HoldfastError } from '../../engine/errors';
import { BoundedCache } from './bounded-cache';
import type { Caller } from './caller';
import {
  CredentialError,
  expiredCredential,
  malformedCredential,
  refusedCredential,
  uncheckedCredential,
} from './credential-errors';
import { identityProblem } from './identity';
import { KeysUnavailable, type KeySet } from './key-set';
import { onMonotonicClock } from './time-of-day';

/** Algorithms with a public key. HS256 and `none` are refused, because anybody could make such tokens from public data. */
export const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA'],
];
const CLOCK_TOLERANCE_S = 30;
/** The most accepted tokens, and the most refused tokens, that are remembered. */
const MAX_ACCEPTED = 10_000;
const MAX_REFUSED = 1000;
/** How long a refusal is remembered (ms). Short, because the issuer may publish a new key. */
const REFUSED_MS = 5000;
/** The bound of tokens that are checked at a time, and of those of one connection. A check may wait for the issuer. */
const MAX_CHECKS = 256;
const MAX_CHECKS_OF_CONNECTION = 16;

export interface JsonWebTokensOptions {
  readonly issuer: string;
  readonly audience: string;
  /** The claim that names the caller. */
  readonly claim: string;
  readonly keys: KeySet;
  readonly clock: Clock;
}

interface Refusal {
  readonly error: CredentialError;
  readonly until: number;
}

/** Proves callers by JSON web tokens. Each token is checked once, and again only after the keys have changed. */
export class JsonWebTokens {
  private readonly accepted = new BoundedCache<Caller>(MAX_ACCEPTED);
  private readonly refused = new BoundedCache<Refusal>(MAX_REFUSED);
  private readonly checks = new Map<string, Promise<Caller>>();
  private readonly checksOf = new WeakMap<object, number>();
  /** Counts the changes of the keys. */
  private keysVersion = 0;

  constructor(private readonly options: JsonWebTokensOptions) {}

  /** Must be called when the keys have changed. Tokens of withdrawn keys are then refused. */
  forget(): void {
    this.keysVersion += 1;
    this.accepted.clear();
    this.refused.clear();
  }

  /** The caller of a token. Throws or rejects with a CredentialError, or OVERLOADED. */
  find(token: string, digest: string, connection: object): Caller | Promise<Caller> {
    const known = this.accepted.get(digest);
    if (known !== undefined) return known;
    const refusal = this.refused.get(digest);
    if (refusal !== undefined) {
      if (refusal.until > this.options.clock.now()) throw refusal.error;
      this.refused.delete(digest);
    }
    return this.checks.get(digest) ?? this.begin(token, digest, connection);
  }

  private begin(token: string, digest: string, connection: object): Promise<Caller> {
    const count = this.checksOf.get(connection) ?? 0;
    if (this.checks.size >= MAX_CHECKS || count >= MAX_CHECKS_OF_CONNECTION) {
      throw new HoldfastError(
        'OVERLOADED',
        'this server checks too many new credentials at present: nothing was done; try again later',
      );
    }
    this.checksOf.set(connection, count + 1);
    const check = this.check(token, digest).finally(() => {
      this.checks.delete(digest);
      this.checksOf.set(connection, (this.checksOf.get(connection) ?? 1) - 1);
    });
    this.checks.set(digest, check);
    return check;
  }

  private async check(token: string, digest: string): Promise<Caller> {
    const { issuer, audience, keys, clock } = this.options;
    const { keysVersion } = this;
    try {
      const { payload } = await jwtVerify(token, keys.find, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE_S,
        requiredClaims: ['exp'],
      });
      const caller = this.callerOf(payload);
      // If the keys have changed during the check, the next call with this token checks the token again.
      if (keysVersion === this.keysVersion) this.accepted.set(digest, caller);
      return caller;
    } catch (cause) {
      const error = toCredentialError(cause);
      // Without keys nothing is known about the token.
      if (!(cause instanceof KeysUnavailable)) {
        this.refused.set(digest, { error, until: clock.now() + REFUSED_MS });
      }
      throw error;
    }
  }

  private callerOf(payload: JWTPayload): Caller {
    const { issuer, claim, clock } = this.options;
    const value = payload[claim];
    if (typeof value !== 'string' || value === '') {
      throw refusedCredential(`the token has no text in the claim ${claim}`);
    }
    const identity = `jwt:${issuer}#${value}`;
    const problem = identityProblem(identity);
    if (problem !== undefined)
      throw refusedCredential(`the identity in the claim ${claim} is not accepted: ${problem}`);
    const endsAtMs = ((payload.exp ?? 0) + CLOCK_TOLERANCE_S) * 1000;
    return { identity, expiresAt: onMonotonicClock(clock, endsAtMs) };
  }
}

/** The messages of jose name claims and headers, but no values. */
function toCredentialError(error: unknown): CredentialError {
  if (error instanceof CredentialError) return error;
  if (error instanceof KeysUnavailable) return uncheckedCredential(error.message);
  if (error instanceof errors.JWTExpired) return expiredCredential(`the token: ${error.message}`);
  if (error instanceof errors.JWTInvalid || error instanceof errors.JWSInvalid) {
    return malformedCredential(`the token: ${error.message}`);
  }
  return refusedCredential(`the token: ${error instanceof Error ? error.message : String(error)}`);
}
