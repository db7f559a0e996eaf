import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeVariant } from '../../../test/support/build-variant';
import { ROOT } from '../../../test/support/root';
import type { Mutant } from './mutants';

const CLIENT = join('clients', 'typescript');

export interface BuiltMutant {
  /** The command of the driver. */
  readonly start: readonly string[];
  remove(): Promise<void>;
}

/** Copies the built client, with the changed source. */
export async function buildMutant(mutant: Mutant): Promise<BuiltMutant> {
  const path = join(CLIENT, mutant.file);
  const changed = mutate(await readFile(join(ROOT, path), 'utf8'), mutant);
  const { folder, remove } = await makeVariant(new Map([[path, changed]]), {
    copied: [CLIENT],
    linked: ['generated'],
  });
  return { start: [process.execPath, join(folder, CLIENT, 'conformance', 'driver.js')], remove };
}

/** Throws if the text does not stand once in the source, because then the mutant is out of date. */
export function mutate(source: string, { file, text, replacement }: Omit<Mutant, 'cases'>): string {
  const [before = '', after, ...more] = source.split(text);
  if (after === undefined) throw new Error(`${file} does not contain: ${text}`);
  if (more.length > 0) throw new Error(`${file} contains ${more.length + 1} times: ${text}`);
  return before + replacement + after;
}
