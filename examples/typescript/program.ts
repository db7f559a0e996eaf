import { parseArgs } from 'node:util';

/** Reads `NAME --option VALUE …`. Wrong arguments end the process with exit code 2. */
export function readArguments<T extends Readonly<Record<string, string>>>(
  program: string,
  defaults: T,
): T & { readonly name: string } {
  const options = Object.entries(defaults).map(([key, value]) => [key, { type: 'string', default: value }]);
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: Object.fromEntries(options) as Record<string, { type: 'string' }>,
    });
    const [name] = positionals;
    if (name === undefined || positionals.length > 1) throw new Error('one NAME is needed');
    return { ...(values as T), name };
  } catch (error) {
    console.error(`${program}: ${(error as Error).message}`);
    console.error(
      `usage: ${program} NAME ${Object.keys(defaults)
        .map((key) => `[--${key} …]`)
        .join(' ')}`,
    );
    process.exit(2);
  }
}

/** Aborts at Ctrl-C or SIGTERM. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  // Not `once`: Ctrl-C under npm gives two signals.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());
  return stop.signal;
}

/** Prints the error. The process ends with exit code 1. */
export function failed({ message, cause }: Error): void {
  console.error(`failed: ${message}${cause instanceof Error ? `: ${cause.message}` : ''}`);
  process.exitCode = 1;
}
