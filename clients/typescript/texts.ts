import { NUMBERS } from './numbers';
import { invalidOption } from './time-span';

/** The server allows far less, and says so. A message beyond the server's bound would end the session of all leases. */
const MAX_LENGTH = NUMBERS.session.maxTextLength;

/** Throws an InvalidRequestError for a value that no message can carry as this text. */
export function checkedText(option: string, value: unknown): string {
  if (typeof value !== 'string') throw invalidOption(option, `a text, not ${typeof value}`);
  checkLength(option, value.length);
  // Another text would arrive, for example the name of another lock.
  if (/\p{Surrogate}/u.test(value)) throw invalidOption(option, 'a text without half of a surrogate pair');
  return value;
}

/** Throws an InvalidRequestError for metadata that no message can carry. */
export function checkedMetadata(metadata: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  let length = 0;
  for (const [key, value] of metadata) {
    checkedText('a key of metadata', key);
    checkedText(`metadata of ${JSON.stringify(key)}`, value);
    length += key.length + value.length;
  }
  checkLength('metadata', length);
  return metadata;
}

function checkLength(option: string, length: number): void {
  if (length > MAX_LENGTH) throw invalidOption(option, `at most ${MAX_LENGTH} characters, not ${length}`);
}
