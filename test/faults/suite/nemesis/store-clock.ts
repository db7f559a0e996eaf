import { between } from '../../../support/random';
import type { WallClock } from '../clock-shim/wall-clock';
import { COMMAND_TIMEOUT_MS, QUARANTINE_MS } from '../settings';
import type { Stage } from '../stage';
import { FORGETTING } from './forgetting';
import type { Effect, Fault } from './fault';

const STEP_MS = [700, 120_000] as const;
/** A step that is longer than the tolerated difference and too short to make a new command late. */
const SHORT_STEP_MS = [700, COMMAND_TIMEOUT_MS - 50] as const;

/**
 * Tokens may become smaller if the clock is set back and the store then loses the tokens. A quarantine after the loss
 * makes up for a smaller step. The store does not notice a manual deletion of one name, so no quarantine follows.
 */
function longestBackMs({ mayForget, mayDeleteName }: Stage['parts']): number {
  if (mayDeleteName) return 0;
  return mayForget ? QUARANTINE_MS - 4000 : Infinity;
}

/** Steps Redis's wall clock forward or back. The ends of all leases are times of this clock. */
export const storeClockStepped: Fault = {
  about: "Redis's wall clock is stepped",
  pauses: () => true,
  touches: ['store', 'clock'],
  needs: 'clocks',
  carryOut: (stage, random) =>
    stepped(stage, (clock) => {
      const longest = longestBackMs(stage.parts);
      const step = between(random, ...STEP_MS) * (random() < 0.5 && longest > 0 ? -1 : 1);
      return Math.max(step, clock.highestMs - longest - clock.offMs);
    }),
};

/** Steps Redis's clock forward by less than the command timeout. Only the reply of a grant then shows the step. */
export const storeClockNudged: Fault = {
  about: "Redis's wall clock is stepped forward by less than the command timeout",
  pauses: () => true,
  touches: ['store', 'clock'],
  needs: 'clocks',
  carryOut: (stage, random) => stepped(stage, () => between(random, ...SHORT_STEP_MS)),
};

async function stepped(stage: Stage, by: (clock: WallClock) => number): Promise<Effect | undefined> {
  const clock = stage.parts.clocks?.store;
  if (clock === undefined) return undefined;
  const before = await stage.store.timeUs();
  const started = performance.now();
  const end = stage.scenario.fault('clock_jumped', 'wall clock of the store', FORGETTING);
  clock.step(by(clock));
  const passedUs = (performance.now() - started) * 1000;
  const steppedUs = (await stage.store.timeUs()) - before - passedUs;
  end();
  return { 'milliseconds stepped': Math.round(Math.abs(steppedUs) / 1000) };
}
