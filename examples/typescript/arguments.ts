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
