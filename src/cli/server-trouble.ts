import { setTimeout as pause } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { type Holdfast, type RawCallOptions, UnavailableError } from '../../clients/typescript';
import { durationToMs } from '../../clients/typescript/duration';
import {
  type GetServerInfoResponse,
  type Quarantine,
  QuarantineCause,
  ServerServiceService as service,
  StoreState,
} from '../../generated/typescript/holdfast/v1/server_service';
import { problemText } from './output';
import { clockText, type Terminal, timeOfDayMs } from './terminal';

const CAUSES: ReadonlyMap<QuarantineCause, string> = new Map([
  [QuarantineCause.QUARANTINE_CAUSE_FORGOTTEN, 'the store was emptied or is new'],
  [QuarantineCause.QUARANTINE_CAUSE_RESTARTED, 'the store was restarted and may lack its last writes'],
  [QuarantineCause.QUARANTINE_CAUSE_CLOCK, "the store's clock was set forward"],
]);

/** How every command says what a server says of its store in STORE_STATE_UNREACHABLE. */
export const NO_STORE = 'the server does not reach its store';

/** The pause of grants after "grants are". The time is that of the own clock. */
export function pauseText({ remainingDuration, cause }: Quarantine): string {
  const leftMs = (remainingDuration && durationToMs(remainingDuration)) ?? 0;
  const why = CAUSES.get(cause) ?? 'the store may have lost leases';
  return `paused until ${clockText(timeOfDayMs() + leftMs)}, because ${why}; "holdfast end-quarantine" may end it early`;
}

/** The warnings about the store, without the one that says what `pauseText` says. The one about some nodes has addresses. */
export function warningsBesidePause({ quarantine, storeWarnings }: GetServerInfoResponse): readonly string[] {
  if (quarantine === undefined) return storeWarnings;
  return storeWarnings.filter((warning) => !warning.includes('EndQuarantine') || warning.endsWith(')'));
}

/** How long a pause may keep another answer waiting (ms). */
const ASK_MS = 2000;

/** The pause of grants. Undefined: there is none, or no server tells. Never rejects. */
export async function pauseOfServers(hf: Holdfast): Promise<string | undefined> {
  try {
    const { quarantine } = await hf.call(service.getServerInfo, {}, { timeout: ASK_MS });
    return quarantine && pauseText(quarantine);
  } catch {
    return undefined;
  }
}

/** Says on stderr that grants are paused, if they are. Data on stdout has no place for it. */
export async function notePause(
  asked: string | undefined | Promise<string | undefined>,
  { err }: Pick<Terminal, 'err'>,
): Promise<void> {
  const pause = await asked;
  if (pause !== undefined) err.write(`holdfast: grants are ${pause}\n`);
}

/** The question after a loss. The command has ended, and the program waits for the answer (ms). */
const AT_LOSS_MS = 300;

interface Trouble {
  readonly kind: 'paused' | 'store' | 'silent';
  /** No answer has come within the time of the question. */
  readonly isLate?: boolean;
  readonly text: string;
  readonly end: string;
}

const STORE_DOWN: Trouble = {
  kind: 'store',
  text: NO_STORE,
  end: 'the server reaches its store again',
};

/**
 * Says on stderr why a run waits, or why its lease is not renewed: one line for each trouble of the servers, and one for its
 * end. A waiting request hears of neither, because it waits on.
 */
export class RunTrouble {
  private current: Trouble | undefined;
  /** The message about the loss says it all. */
  private isLost = false;

  /** @param isQuiet no lines */
  constructor(
    private readonly terminal: Pick<Terminal, 'err' | 'asking'>,
    private readonly isQuiet: boolean,
  ) {}

  /** Why a renewal failed just now. If nothing is known, a server is asked, once and for a short time. */
  async atLoss(hf: Holdfast): Promise<string | undefined> {
    this.isLost = true;
    if (hf.trouble) return problemText(hf.trouble);
    if (this.current !== undefined) return this.current.text;
    const found = await troubleOf(hf, { timeout: AT_LOSS_MS });
    // A busy server may need longer, and is not silent.
    return hf.trouble ? problemText(hf.trouble) : found?.isLate ? undefined : found?.text;
  }

  /** Asks again and again, until the function in the answer is called. */
  follow(hf: Holdfast): () => void {
    const end = new AbortController();
    void this.observe(hf, end.signal);
    return () => end.abort();
  }

  private async observe(hf: Holdfast, signal: AbortSignal): Promise<void> {
    const { firstMs, intervalMs, answerMs } = this.terminal.asking;
    for (let waitMs = firstMs; ; waitMs = intervalMs) {
      await pause(waitMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      const trouble = await troubleOf(hf, { timeout: answerMs, signal });
      if (signal.aborted) return;
      this.found(trouble);
    }
  }

  private found(trouble: Trouble | undefined): void {
    const { current } = this;
    this.current = trouble;
    if (trouble?.kind === current?.kind) return;
    if (current !== undefined) this.write(current.end);
    if (trouble !== undefined) this.write(trouble.text);
  }

  private write(text: string): void {
    if (!this.isQuiet && !this.isLost) this.terminal.err.write(`holdfast: ${text}\n`);
  }
}

/** Undefined: there is no trouble, or a server refuses to tell, for example by a quota. */
async function troubleOf(hf: Holdfast, bounds: RawCallOptions): Promise<Trouble | undefined> {
  try {
    const { storeState, quarantine } = await hf.call(service.getServerInfo, {}, bounds);
    if (storeState === StoreState.STORE_STATE_UNREACHABLE) return STORE_DOWN;
    return quarantine && { kind: 'paused', text: pauseText(quarantine), end: 'no longer paused' };
  } catch (error) {
    if (!(error instanceof UnavailableError)) return undefined;
    const isLate = error.code === status.DEADLINE_EXCEEDED;
    const text = isLate ? problemText(error) : `no server answers: ${problemText(error)}`;
    return { kind: 'silent', isLate, text, end: 'a server answers again' };
  }
}
