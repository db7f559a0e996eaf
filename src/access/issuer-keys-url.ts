import http from 'node:http';
import https from 'node:https';
import type { JWTVerifyGetKey } from 'jose';
import type { Clock, Timer } from '../base/clock';
import type { Log } from '../base/log';
import { type KeysChanged, type KeySet, KeysUnavailable, PresentKeys } from './issuer-keys';

export interface DownloadOptions {
  readonly signal: AbortSignal;
  readonly maxBytes: number;
  readonly accept: string;
}

/**
 * The text at an address. Rejects after each status except 200, so redirections are refused. `fetch` of Node 20 is not
 * used: it may lose the signal to the garbage collector, and then waits 5 minutes for a server that does not answer.
 */
async function download(url: string, { signal, maxBytes, accept }: DownloadOptions): Promise<string> {
  const { get } = url.startsWith('https:') ? https : http;
  const headers = { accept, 'accept-encoding': 'identity' };
  const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
    get(url, { signal, headers, agent: false }, resolve).on('error', reject);
  });
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    if (answer.statusCode !== 200)
      throw new Error(`the server answered with the HTTP status ${answer.statusCode}`);
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      size += chunk.byteLength;
      if (size > maxBytes) throw new Error(`the answer has more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } finally {
    answer.destroy();
  }
  return Buffer.concat(chunks).toString('utf8');
}

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
const ACCEPT = 'application/json, application/jwk-set+json';

export interface KeySetUrlOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly onChanged: KeysChanged;
  readonly times?: KeySetTimes | undefined;
}

/**
 * A key set that the issuer publishes. Keys are requested regularly, and when a token names an unknown key. While the
 * issuer cannot be reached the last keys stay in use, but not for ever: the issuer may have withdrawn a stolen key.
 */
export class KeySetUrl implements KeySet {
  private readonly times: KeySetTimes;
  private readonly present: PresentKeys;
  private loadedAt = -Infinity;
  private askedAt = -Infinity;
  private failureCount = 0;
  private request: { readonly ended: Promise<void>; readonly controller: AbortController } | undefined;
  private timer: Timer | undefined;
  private isClosed = false;

  constructor(private readonly options: KeySetUrlOptions) {
    this.times = options.times ?? defaultKeySetTimes;
    this.present = new PresentKeys(options.log, options.onChanged);
  }

  /** Resolves after the first request, also if the request fails. Later requests follow by themselves. */
  start(): Promise<void> {
    return this.refresh();
  }

  get hasFailed(): boolean {
    return this.failureCount > 0;
  }

  close(): void {
    this.isClosed = true;
    this.timer?.cancel();
    this.request?.controller.abort();
  }

  readonly find: JWTVerifyGetKey = (header, token) => {
    if (this.loadedAt === -Infinity)
      throw new KeysUnavailable('no request for the keys of the issuer has succeeded');
    if (!this.isCurrent) throw new KeysUnavailable('the keys of the issuer are too old');
    return this.present.find(header, token);
  };

  async renew(): Promise<boolean> {
    const isCool = this.options.clock.now() - this.askedAt >= this.times.coolDownMs;
    if (this.request === undefined && !isCool) return false;
    await this.refresh();
    return true;
  }

  private get isCurrent(): boolean {
    return this.options.clock.now() - this.loadedAt <= this.times.staleMs;
  }

  /** At most one request is in progress. */
  private refresh(): Promise<void> {
    if (this.request === undefined) {
      const controller = new AbortController();
      const ended = this.ask(controller).finally(() => (this.request = undefined));
      this.request = { ended, controller };
    }
    return this.request.ended;
  }

  private async ask(controller: AbortController): Promise<void> {
    const { clock, log, url } = this.options;
    this.timer?.cancel();
    this.askedAt = clock.now();
    try {
      this.present.replace(await this.download(controller));
      if (this.failureCount > 0) log.info({ url }, 'the keys of the issuer can be requested again');
      this.failureCount = 0;
      this.loadedAt = clock.now();
    } catch (error) {
      if (this.isClosed) return;
      this.failureCount += 1;
      const keys = this.isCurrent ? 'the last keys stay in use' : 'JSON web tokens are refused';
      // Each failed request has a line. The pauses grow, so a long failure has few lines.
      log.warn({ err: error, url }, `the keys of the issuer could not be requested; ${keys}`);
    }
    if (!this.isClosed) this.timer = clock.after(this.pauseMs(), () => void this.refresh());
  }

  private pauseMs(): number {
    const { refreshMs, firstRetryMs, longestRetryMs } = this.times;
    if (this.failureCount === 0) return refreshMs;
    return Math.min(firstRetryMs * 2 ** Math.min(this.failureCount - 1, 20), longestRetryMs);
  }

  /** Redirections are refused, because the setting names the one place that is trusted. */
  private async download(controller: AbortController): Promise<string> {
    const { url, clock } = this.options;
    const { requestMs } = this.times;
    let isLate = false;
    const timer = clock.after(requestMs, () => {
      isLate = true;
      controller.abort();
    });
    const { signal } = controller;
    try {
      return await download(url, { signal, maxBytes: MAX_ANSWER_BYTES, accept: ACCEPT });
    } catch (cause) {
      throw isLate ? new Error(`the issuer has not answered within ${requestMs} ms`, { cause }) : cause;
    } finally {
      timer.cancel();
    }
  }
}
