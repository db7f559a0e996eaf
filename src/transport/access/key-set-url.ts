import { errors, type JWTVerifyGetKey } from 'jose';
import type { Clock, Timer } from '../../engine/clock';
import type { Log } from '../grpc/log';
import { KeysUnavailable, readKeySet, type KeySet } from './key-set';

export interface KeySetTimes {
  /** The bound of one request. */
  readonly requestMs: number;
  /** From a successful request to the next. */
  readonly refreshMs: number;
  /** The shortest time between two requests for unknown keys, so that forged tokens cause few requests. */
  readonly coolDownMs: number;
  /** The pause after the first failed request. Each further failure doubles the pause. */
  readonly firstRetryMs: number;
  readonly longestRetryMs: number;
  /** How long the keys stay in use after the last successful request. */
  readonly staleMs: number;
}

export const defaultKeySetTimes: KeySetTimes = {
  requestMs: 5000,
  refreshMs: 300_000,
  coolDownMs: 10_000,
  firstRetryMs: 1000,
  longestRetryMs: 60_000,
  staleMs: 3_600_000,
};

/** Bound of an answer of the issuer. */
const MAX_ANSWER_BYTES = 2 ** 18;

export interface KeySetUrlOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the issuer has published other keys. */
  readonly onChanged: () => void;
  readonly times?: KeySetTimes | undefined;
}

/**
 * A key set that the issuer publishes. Keys are requested regularly, and when a token names an unknown key. While the
 * issuer cannot be reached the last keys stay in use, but not for ever: the issuer may have withdrawn a stolen key.
 */
export class KeySetUrl implements KeySet {
  private readonly times: KeySetTimes;
  private current: JWTVerifyGetKey | undefined;
  private currentText = '';
  private loadedAt = -Infinity;
  private askedAt = -Infinity;
  private failureCount = 0;
  private request: Promise<void> | undefined;
  private timer: Timer | undefined;
  private readonly closing = new AbortController();

  constructor(private readonly options: KeySetUrlOptions) {
    this.times = options.times ?? defaultKeySetTimes;
  }

  /** Resolves after the first request, also if the request fails. Later requests follow by themselves. */
  start(): Promise<void> {
    return this.refresh();
  }

  close(): void {
    this.timer?.cancel();
    this.closing.abort();
  }

  readonly find: JWTVerifyGetKey = async (header, token) => {
    if (!this.isCurrent) await this.refreshIfCool();
    try {
      return await this.keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || !(await this.refreshIfCool())) throw error;
      return this.keys(header, token);
    }
  };

  private get isCurrent(): boolean {
    return this.options.clock.now() - this.loadedAt <= this.times.staleMs;
  }

  private get keys(): JWTVerifyGetKey {
    if (this.current === undefined)
      throw new KeysUnavailable('no request for the keys of the issuer has succeeded');
    if (!this.isCurrent) throw new KeysUnavailable('the keys of the issuer are too old');
    return this.current;
  }

  /** Answers false if the last request is too recent. */
  private async refreshIfCool(): Promise<boolean> {
    const isCool = this.options.clock.now() - this.askedAt >= this.times.coolDownMs;
    if (this.request === undefined && !isCool) return false;
    await this.refresh();
    return true;
  }

  /** At most one request is in progress. */
  private refresh(): Promise<void> {
    this.request ??= this.ask().finally(() => (this.request = undefined));
    return this.request;
  }

  private async ask(): Promise<void> {
    const { clock, log, url } = this.options;
    this.timer?.cancel();
    this.askedAt = clock.now();
    try {
      const text = await this.download();
      if (text !== this.currentText) this.replace(text);
      if (this.failureCount > 0) log.info({ url }, 'the keys of the issuer can be requested again');
      this.failureCount = 0;
      this.loadedAt = clock.now();
    } catch (error) {
      if (this.closing.signal.aborted) return;
      this.failureCount += 1;
      const keys = this.isCurrent ? 'the last keys stay in use' : 'JSON web tokens are refused';
      // The log has one line for the first failure, and one for each later failure at the longest pause.
      log.warn({ err: error, url }, `the keys of the issuer could not be requested; ${keys}`);
    }
    if (!this.closing.signal.aborted) this.timer = clock.after(this.pauseMs(), () => void this.refresh());
  }

  private pauseMs(): number {
    const { refreshMs, firstRetryMs, longestRetryMs } = this.times;
    if (this.failureCount === 0) return refreshMs;
    return Math.min(firstRetryMs * 2 ** Math.min(this.failureCount - 1, 20), longestRetryMs);
  }

  private replace(text: string): void {
    this.current = readKeySet(text).find;
    this.currentText = text;
    this.options.onChanged();
  }

  /** Redirections are refused, because the setting names the one place that is trusted. */
  private async download(): Promise<string> {
    const { url } = this.options;
    const signal = AbortSignal.any([AbortSignal.timeout(this.times.requestMs), this.closing.signal]);
    const headers = { accept: 'application/json, application/jwk-set+json' };
    const answer = await fetch(url, { signal, redirect: 'error', headers });
    if (answer.status !== 200) {
      await answer.body?.cancel();
      throw new Error(`the issuer answered with the HTTP status ${answer.status}`);
    }
    return readBounded(answer);
  }
}

async function readBounded(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  if (answer.body === null) return '';
  for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > MAX_ANSWER_BYTES) throw new Error(`the answer has more than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
