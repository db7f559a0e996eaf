import { spreadOf } from '../support/statistics';
import type { Figure, Goal } from './row';

/** A number with a line of its own, from the values of its rounds. */
export function figure(what: string, unit: string, rounds: readonly number[], goal?: Goal): Figure {
  return { what, unit, value: spreadOf(rounds), ...(goal && { goal }) };
}
