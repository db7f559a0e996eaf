import type { Holdfast } from '../../../clients/typescript';
import { durationToMs } from '../../../clients/typescript/duration';
import {
  QuarantineCause,
  ServerServiceService as service,
  type Quarantine,
} from '../../../generated/typescript/holdfast/v1/server_service';
import { clockText, timeOfDayMs } from '../time-of-day';

const CAUSES: ReadonlyMap<QuarantineCause, string> = new Map([
  [QuarantineCause.QUARANTINE_CAUSE_FORGOTTEN, 'the store was emptied, or is new'],
  [QuarantineCause.QUARANTINE_CAUSE_RESTARTED, 'the store was restarted, and may lack its last writes'],
  [QuarantineCause.QUARANTINE_CAUSE_CLOCK, "the store's clock was set forward"],
]);

/** "paused until 12:03:20, the store was emptied, or is new". The time is that of the own clock. */
export function pauseText({ remainingDuration, cause }: Quarantine): string {
  const leftMs = (remainingDuration && durationToMs(remainingDuration)) ?? 0;
  const why = CAUSES.get(cause) ?? 'the store may have lost leases';
  return `paused until ${clockText(timeOfDayMs() + leftMs)}, ${why}`;
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
