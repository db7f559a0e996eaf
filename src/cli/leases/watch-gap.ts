import { setTimeout as pause } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { UnavailableError, type Holdfast, type RawCallOptions } from '../../../clients/typescript';
import {
  ServerServiceService as service,
  StoreState,
} from '../../../generated/typescript/holdfast/v1/server_service';
import { problemText } from '../output';
import type { Terminal } from '../terminal';
import { NO_STORE } from '../server-trouble';

/**
 * Follows the states of one name. Says once on stderr that the state may be old, and once that the state is current again.
 * A watch itself notices a hanging server late, and a store out of reach not at all, so a call asks the server of the watch.
 * The client leaves a server that does not answer a call. The watch is then opened again, at the next address.
 */
export class WatchGap {
  private hasGap = false;
  /** Aborts when the server of the present watch is silent. */
  private silence = new AbortController();

  /** @param subject the watched name in a sentence, such as `lock "a"` */
  constructor(
    private readonly terminal: Pick<Terminal, 'err' | 'asking'>,
    private readonly subject: string,
  ) {}

  /**
   * The states until `ends` aborts.
   *
   * @param watch opens a watch that ends without an error when its signal aborts
   */
  async *states<T>(
    hf: Holdfast,
    ends: AbortSignal,
    watch: (signal: AbortSignal) => AsyncIterable<T>,
  ): AsyncGenerator<T, void, undefined> {
    const done = new AbortController();
    const observed = this.observe(hf, AbortSignal.any([ends, done.signal]));
    try {
      while (!ends.aborted) {
        this.silence = new AbortController();
        yield* watch(AbortSignal.any([ends, this.silence.signal]));
      }
    } finally {
      done.abort();
      await observed;
    }
  }

  /** Asks again and again whether a server answers and reaches its store, until `ends` aborts. */
  private async observe(hf: Holdfast, ends: AbortSignal): Promise<void> {
    const { intervalMs } = this.terminal.asking;
    for (;;) {
      await pause(intervalMs, undefined, { signal: ends, ref: false }).catch(() => undefined);
      if (ends.aborted) return;
      const problem = await this.problemOf(hf, ends);
      if (ends.aborted) return;
      if (problem === undefined) this.over();
      else this.found(problem);
    }
  }

  private async problemOf(hf: Holdfast, signal: AbortSignal): Promise<string | undefined> {
    // Without repetitions the call asks the server of the watch, and no other one.
    const { answerMs: timeout } = this.terminal.asking;
    const first = await askStore(hf, { timeout, isIdempotent: false, signal });
    if (first instanceof UnavailableError && first.code === status.DEADLINE_EXCEEDED) {
      this.silence.abort();
      return problemText(first);
    }
    const answer = first instanceof UnavailableError ? await askStore(hf, { timeout, signal }) : first;
    if (answer instanceof UnavailableError) return `no server answers: ${problemText(answer)}`;
    return answer === StoreState.STORE_STATE_UNREACHABLE ? NO_STORE : undefined;
  }

  private found(problem: string): void {
    if (!this.hasGap) this.write(`${this.subject} may have changed unseen: ${problem}`);
    this.hasGap = true;
  }

  private over(): void {
    if (this.hasGap) this.write(`${this.subject} is watched again`);
    this.hasGap = false;
  }

  private write(text: string): void {
    this.terminal.err.write(`holdfast: ${text}\n`);
  }
}

/** The state of the store, or why no server has answered. Undefined: a server refuses to tell, for example by a quota. */
async function askStore(
  hf: Holdfast,
  options: RawCallOptions,
): Promise<StoreState | UnavailableError | undefined> {
  try {
    const { storeState } = await hf.call(service.getServerInfo, {}, options);
    return storeState;
  } catch (error) {
    return error instanceof UnavailableError ? error : undefined;
  }
}
