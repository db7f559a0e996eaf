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
 * Tokens may become smaller if the clock is set back by more than the quarantine and the store then loses the tokens.
 * The product guarantees no more, so a round with both faults sets the clock back by less.
 */
const MAX_BACK_MS = QUARANTINE_MS - 4000;

/** Steps Redis's wall clock forward or back. The ends of all leases are times of this clock. */
export const storeClockStepped: Fault = {
  about: "Redis's wall clock is stepped",
  pauses: () => true,
  touches: ['store', 'clock'],
  needs: 'clocks',
  carryOut: (stage, random) =>
    stepped(stage, (clock) => {
      const step = between(random, ...STEP_MS) * (random() < 0.5 ? -1 : 1);
      return Math.max(step, stage.parts.mayForget ? clock.highestMs - MAX_BACK_MS - clock.offMs : step);
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
