import { between, oneOf, type Random } from '../../../support/random';
import type { WallClock } from '../clock-shim/wall-clock';
import type { Stage } from '../stage';
import type { Effect, Fault } from './fault';

const STEP_MS = [2000, 3_600_000] as const;

/** Steps a server's wall clock. Servers must not depend on it. */
export const serverClockStepped: Fault = {
  about: "a server's wall clock is stepped",
  touches: ['clock'],
  needs: 'clocks',
  carryOut: (stage, random) => stepped(stage, random, oneOf(random, stage.parts.clocks?.members ?? [])),
};

/** Steps the clients' wall clock. Their deadlines use the monotonic clock. */
export const clientClockStepped: Fault = {
  about: "the clients' wall clock is stepped",
  touches: ['clock'],
  needs: 'clocks',
  carryOut: (stage, random) => stepped(stage, random, stage.parts.clocks?.clients),
};

async function stepped(
  stage: Stage,
  random: Random,
  clock: WallClock | undefined,
): Promise<Effect | undefined> {
  if (clock === undefined) return undefined;
  const ms = between(random, ...STEP_MS) * (random() < 0.5 ? -1 : 1);
  const end = stage.scenario.fault('clock_jumped', `by ${ms} ms`);
  clock.step(ms);
  end();
  return { 'seconds stepped': Math.round(Math.abs(ms) / 1000) };
}
