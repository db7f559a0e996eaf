import { unlessAborted } from '../../../clients/typescript/calls/abort';
import type { Bytes } from './lines';

/**
 * The bytes of a pipe or a terminal, whose writer may keep silent. Rejects with the signal's reason when the signal aborts.
 * The read that is open then stays open, because a read of a pipe cannot be ended.
 */
export async function* interruptible(
  input: Bytes,
  signal: AbortSignal,
): AsyncGenerator<Buffer | string, void, undefined> {
  const pieces = input[Symbol.asyncIterator]();
  for (;;) {
    const next = await unlessAborted(pieces.next(), signal);
    if (next.done) return;
    yield next.value;
  }
}
