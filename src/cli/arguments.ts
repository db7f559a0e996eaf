import { InvalidArgumentError } from 'commander';
import { toMs } from '../../clients/typescript/time-span';

/** Parses "500ms", "30s", "5m" or "1.5h" to milliseconds. */
export function timeSpan(text: string): number {
  try {
    return toMs(text, 'the argument');
  } catch {
    throw new InvalidArgumentError('It must be a time such as 500ms, 30s, 5m or 1.5h.');
  }
}

/** Parses a whole number from `least` to `most`. */
export function wholeNumber(least: number, most = 2_147_483_647): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d{1,10}$/.test(text) || value < least || value > most) {
      throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
    }
    return value;
  };
}

export function exitCodeNumber(text: string): number {
  if (!/^\d{1,3}$/.test(text) || Number(text) > 255) {
    throw new InvalidArgumentError('It must be a whole number from 0 to 255.');
  }
  return Number(text);
}
