import { HoldfastError } from './errors';

/** One error may reject several promises. Its stack is that of the first caller. */
const told = new WeakSet<HoldfastError>();

/**
 * Runs `work`. An error of this package begins in an event of the connection, so its own stack does not show who called.
 * The stack of the caller is added to it.
 *
 * @param entry the function of this package that the stack leaves out, with all that it calls
 */
export async function withCaller<T>(
  entry: (...args: never[]) => unknown,
  work: () => Promise<T>,
): Promise<T> {
  const caller: { stack?: string } = {};
  Error.captureStackTrace(caller, entry);
  try {
    return await work();
  } catch (error) {
    if (error instanceof HoldfastError && !told.has(error)) {
      told.add(error);
      // The first line is the name of the object without a message.
      const frames = (caller.stack ?? '').split('\n').slice(1);
      if (frames.length > 0)
        error.stack = [error.stack ?? String(error), 'Called from:', ...frames].join('\n');
    }
    throw error;
  }
}
