import { setTimeout as pause } from 'node:timers/promises';
import { UnavailableError, type Holdfast } from '../../../clients/typescript';
import {
  ServerServiceService as service,
  StoreState,
} from '../../../generated/typescript/holdfast/v1/server_service';
import { problemText } from '../output/problem-text';
import type { Terminal } from '../terminal';

const INTERVAL_MS = 3000;
/** Long enough for the restart of a server, which is no news. */
const ANSWER_MS = 5000;

/**
 * Says once on stderr that the state of a watch may be old, and once that it is current again. A watch itself is silent
 * while the server hangs or does not reach its store.
 */
export class WatchGap {
  private hasGap = false;

  /** @param subject the watched name in a sentence, such as `lock "a"` */
  constructor(
    private readonly terminal: Pick<Terminal, 'err'>,
    private readonly subject: string,
  ) {}

  /** Asks again and again whether a server answers and reaches its store, until `ends` aborts. */
  async observe(hf: Holdfast, ends: AbortSignal): Promise<void> {
    for (;;) {
      await pause(INTERVAL_MS, undefined, { signal: ends, ref: false }).catch(() => undefined);
      if (ends.aborted) return;
      const problem = await problemOf(hf, ends);
      if (ends.aborted) return;
      if (problem === undefined) this.over();
      else this.found(problem);
    }
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

async function problemOf(hf: Holdfast, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { storeState } = await hf.call(service.getServerInfo, {}, { timeout: ANSWER_MS, signal });
    return storeState === StoreState.STORE_STATE_UNREACHABLE
      ? 'the server does not reach its store'
      : undefined;
  } catch (error) {
    // A refusal, for example by a quota, is an answer.
    if (!(error instanceof UnavailableError)) return undefined;
    return `no server answers: ${problemText(error)}`;
  }
}
