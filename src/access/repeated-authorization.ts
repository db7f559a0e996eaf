import type { IncomingHttpHeaders } from 'node:http2';

const NAME = 'authorization';

/**
 * Puts all values of a repeated header `authorization` into the headers, so that the call is refused. Node keeps the
 * first value, and drops the others.
 * @param rawHeaders names and values in turn
 */
export function keepRepeatedAuthorization(headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) if (rawHeaders[index] === NAME) count += 1;
  if (count < 2) return;
  const values = rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1] === NAME);
  Object.assign(headers, { [NAME]: values });
}
