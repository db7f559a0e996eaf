import { errors, jwtVerify, type JWTPayload } from 'jose';
import type { Clock } from '../base/clock';
import { HoldfastError } from '../base/errors';
import { BoundedCache } from '../flow/bounded-lists';
import {
  type Caller,
  CredentialError,
  expiredCredential,
  malformedCredential,
  refusedCredential,
  uncheckedCredential,
} from './caller';
import { Lanes, Slots } from '../flow/lanes';
import { identityProblem } from './identity';
import { type KeySet, KeysUnavailable } from './issuer-keys';
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
/**
 * The bounds of the tokens that are verified or wait for their turn: of all connections together, and of one
 * connection.
 */
const MAX_CHECKS = 2048;
const MAX_CHECKS_OF_CONNECTION = 64;
/**
 * Node verifies on four threads. With more tokens at once, a token of another connection would wait behind more tokens
 * of a flood.
 */
const CHECKS_AT_ONCE = 8;
/**
 * The bounds of the tokens that wait for new keys of the issuer: of all connections together, and of one connection.
 */
const MAX_WAITS = 256;
const MAX_WAITS_OF_CONNECTION = 16;

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

/**
 * Proves callers by JSON web tokens. Each token is checked once, and again only after a key was withdrawn. A token with
 * an unknown key waits for one request to the issuer, and takes no place from tokens with known keys meanwhile.
 */
export class JsonWebTokens {
  private readonly accepted = new BoundedCache<Caller>(MAX_ACCEPTED);
  private readonly refused = new BoundedCache<Refusal>(MAX_REFUSED);
  private readonly checks = new Map<string, Promise<Caller>>();
  private readonly checking = new Slots(MAX_CHECKS, MAX_CHECKS_OF_CONNECTION);
  private readonly verifying = new Lanes(CHECKS_AT_ONCE);
  private readonly waiting = new Slots(MAX_WAITS, MAX_WAITS_OF_CONNECTION);
  /** Counts the changes of the keys. */
  private keysVersion = 0;

  constructor(private readonly options: JsonWebTokensOptions) {}

  /** Must be called when the keys have changed. Tokens of withdrawn keys are then refused. */
  keysChanged(hasWithdrawn: boolean): void {
    this.keysVersion += 1;
    if (hasWithdrawn) this.accepted.clear();
    this.refused.clear();
  }

  /** The caller of a token that was checked before. Starts no check. */
  known(digest: string): Caller | undefined {
    return this.accepted.get(digest);
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
    if (!isCanonical(token)) throw malformedCredential('the token is not in the one form of base64url');
    const check = this.check(token, digest, connection).finally(() => this.checks.delete(digest));
    this.checks.set(digest, check);
    return check;
  }

  private async check(token: string, digest: string, connection: object): Promise<Caller> {
    const { keysVersion } = this;
    try {
      const caller = this.callerOf(await this.payloadOf(token, connection));
      // If the keys have changed during the check, the next call with this token checks the token again.
      if (keysVersion === this.keysVersion) this.accepted.set(digest, caller);
      return caller;
    } catch (cause) {
      const error = toHoldfastError(cause);
      // A refusal is remembered only if the token was checked with current keys.
      if (error instanceof CredentialError && !(cause instanceof KeysUnavailable)) {
        this.refused.set(digest, { error, until: this.options.clock.now() + REFUSED_MS });
      }
      throw error;
    }
  }

  private async payloadOf(token: string, connection: object): Promise<JWTPayload> {
    try {
      const verify = (): Promise<JWTPayload> => this.verify(token);
      return await this.checking.use(connection, () => this.verifying.run(connection, verify));
    } catch (error) {
      if (!(error instanceof KeysUnavailable || error instanceof errors.JWKSNoMatchingKey)) throw error;
      if (!(await this.waiting.use(connection, () => this.options.keys.renew()))) throw error;
      return this.verify(token);
    }
  }

  private async verify(token: string): Promise<JWTPayload> {
    const { issuer, audience, keys } = this.options;
    const { payload } = await jwtVerify(token, keys.find, {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_TOLERANCE_S,
      requiredClaims: ['exp'],
    });
    return payload;
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

/** Decoders accept several texts of the same bytes. With one text for each token, a token takes one place in the caches. */
function isCanonical(token: string): boolean {
  return token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
}

/** The messages of jose name claims and headers, but no values. */
function toHoldfastError(error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  if (error instanceof KeysUnavailable) return uncheckedCredential(error.message);
  if (error instanceof errors.JWTExpired) return expiredCredential(`the token: ${error.message}`);
  if (error instanceof errors.JWTInvalid || error instanceof errors.JWSInvalid) {
    return malformedCredential(`the token: ${error.message}`);
  }
  return refusedCredential(`the token: ${error instanceof Error ? error.message : String(error)}`);
}
