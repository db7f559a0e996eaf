import type { Holdfast } from '../../clients/typescript';
import { durationToMs } from '../../clients/typescript/duration';
import {
  QuarantineCause,
  ServerServiceService as service,
  type GetServerInfoResponse,
  type Quarantine,
} from '../../generated/typescript/holdfast/v1/server_service';
import type { Terminal } from './terminal';
import { clockText, timeOfDayMs } from './time-of-day';

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
