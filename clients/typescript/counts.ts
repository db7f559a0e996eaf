import { invalidOption, textOfValue } from './time-span';

/** Throws an InvalidRequestError for a count that no message can carry. The server checks all else. */
export function checkCount(option: string, count: number | undefined): void {
  const isCount = count === undefined || (Number.isInteger(count) && count >= 0 && count < 2 ** 31);
  if (!isCount) throw invalidOption(option, `a whole number below ${2 ** 31}, not ${textOfValue(count)}`);
}
