import { between } from '../../../support/random';
import type { WallClock } from '../clock-shim/wall-clock';
import { COMMAND_TIMEOUT_MS, QUARANTINE_MS } from '../settings';
import type { Stage } from '../stage';
import { FORGETTING } from './forgetting';
import type { Did, Fault } from './fault';

const STEP_MS = [700, 120_000] as const;
/** Longer than anybody tolerates, and short enough for a command that was just sent not to be late by it. */
const SHORT_STEP_MS = [700, COMMAND_TIMEOUT_MS - 50] as const;

/**
 * Tokens may go back where the clock was set back by more than the quarantine and the store has then forgotten them too:
 * that is not promised, so in a round with both it is set back by less.
 */
const MOST_BACK_MS = QUARANTINE_MS - 4000;

/** Redis's wall clock, by which all ends are kept, is set forward or back. */
export const storeClockStepped: Fault = {
  about: "Redis's wall clock is stepped",
  pauses: () => true,
  touches: ['store', 'clock'],
  needs: 'clocks',
  carryOut: (stage, random) =>
    stepped(stage, (clock) => {
      const step = between(random, ...STEP_MS) * (random() < 0.5 ? -1 : 1);
      return Math.max(step, stage.parts.mayForget ? clock.highestMs - MOST_BACK_MS - clock.offMs : step);
    }),
};

/** It is set forward by less than a command may take: none is late by it, and what they grant shows it first. */
export const storeClockNudged: Fault = {
  about: "Redis's wall clock is stepped forward by less than a command may take",
  pauses: () => true,
  touches: ['store', 'clock'],
  needs: 'clocks',
  carryOut: (stage, random) => stepped(stage, () => between(random, ...SHORT_STEP_MS)),
};

async function stepped(stage: Stage, by: (clock: WallClock) => number): Promise<Did | undefined> {
  const clock = stage.parts.clocks?.store;
  if (clock === undefined) return undefined;
  const before = await stage.store.timeUs();
  const started = performance.now();
  const end = stage.scenario.fault('clock_jumped', 'of the store', FORGETTING);
  clock.step(by(clock));
  const passedUs = (performance.now() - started) * 1000;
  const steppedUs = (await stage.store.timeUs()) - before - passedUs;
  end();
  return { 'milliseconds stepped': Math.round(Math.abs(steppedUs) / 1000) };
}
