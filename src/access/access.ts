import type { Clock } from '../base/clock';
import { escapeText } from '../base/text';
import {
  addressOf,
  SEVERAL_ADDRESSES,
  type CallTrace,
  type Log,
  type SampleBounds,
  SampledLines,
} from '../base/log';
import { type Authenticator, type Caller, CredentialError, type PresentedCredentials } from './caller';
import type { OpenCredentials } from './open-credentials';

export interface AccessOptions {
  readonly authenticator: Authenticator;
  readonly open: OpenCredentials;
  readonly clock: Clock;
  readonly log: Log;
}

/** A call before its caller is proven. */
export interface ArrivingCall extends PresentedCredentials {
  readonly method: string;
  /** The address of the client. */
  readonly peer: string;
  /** Read only when a line is written. */
  readonly trace?: CallTrace | undefined;
}

/** Lines of one address. */
const REFUSED: SampleBounds = { intervalMs: 1000, linesOfKey: 5, keys: 20 };

/** Proves the caller of each call, before the handler of the call runs. Logs the refused credentials. */
export class Access {
  /** The open calls, which end with their credentials. */
  readonly open: OpenCredentials;
  private readonly authenticator: Authenticator;
  private readonly refusals: SampledLines;
  private readonly log: Log;

  constructor({ authenticator, open, clock, log }: AccessOptions) {
    this.authenticator = authenticator;
    this.open = open;
    this.log = log;
    this.refusals = new SampledLines(log, clock, REFUSED, 'refused more credentials');
  }

  /** Proves the caller. Throws or rejects with the error for the client. */
  prove(call: ArrivingCall): Caller | Promise<Caller> {
    try {
      const caller = this.authenticator.authenticate(call);
      if (!(caller instanceof Promise)) return caller;
      return caller.catch((error: unknown) => this.refuse(call, error));
    } catch (error) {
      return this.refuse(call, error);
    }
  }

  /** Whether `prove` would answer without a promise. Logs no refusal, because the call is proven later. */
  knows(credentials: PresentedCredentials): boolean {
    return this.authenticator.known(credentials) !== undefined;
  }

  /** The identity of a call that is never proven, because it is refused before. Empty: not known without a check. */
  identityOf(credentials: PresentedCredentials): string {
    return this.authenticator.known(credentials)?.identity ?? '';
  }

  /** The client presented a certificate that ended the TLS handshake, so there is no call. */
  refusedHandshake(peer: string, problem: string): void {
    const detail = `the TLS handshake with the client certificate failed: ${problem}`;
    this.write(peer, () => ({ reason: 'BAD_CREDENTIAL', detail }));
  }

  close(): void {
    this.open.close();
    this.refusals.close();
    this.authenticator.close();
  }

  private refuse(call: ArrivingCall, error: unknown): never {
    if (error instanceof CredentialError) {
      const { reason, detail } = error;
      const { method, peer } = call;
      this.write(peer, () => ({ reason, detail: escapeText(detail), method, ...call.trace }));
    }
    throw error;
  }

  private write(peer: string, fields: () => object): void {
    const address = addressOf(peer);
    this.refusals.add(
      address,
      (isSeveral) => ({ peer: isSeveral ? SEVERAL_ADDRESSES : address }),
      () => this.log.warn({ ...fields(), peer }, 'refused a credential'),
    );
  }
}
