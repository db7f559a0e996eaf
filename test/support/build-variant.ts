import { readFileSync } from 'node:fs';
import { cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { transformSync, type Options } from '@swc/core';
import { makeScratchFolder } from './scratch-folder';
import { ROOT } from './root';

const SWC = createRequire(__filename)(join(ROOT, 'tools/swc-options.cjs')) as Options;

/** One exact replacement in a source. */
export interface Patch {
  /** The path from the root. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** Only in the lines that match. Default: in the whole text. */
  readonly lines?: RegExp;
}

/** The scripts as the build embeds them, and the lines with the library of leases and with all scripts. */
export const EMBEDDED = 'generated/redis/scripts.ts';
export const LIBRARY_LINES = /^export const leaseLibrary\b/;
export const SCRIPT_LINES = /^export const (?!leaseLibrary\b)/;

/** A copy of the build with some changed sources, for a mutant or a benchmark's reference. */
export interface Variant {
  /** The copy's dist/. */
  readonly folder: string;
  remove(): Promise<void>;
}

/** Folders below dist/. */
export interface VariantParts {
  readonly copied: readonly string[];
  /** Folders without a change, which the copied code reads. */
  readonly linked: readonly string[];
}

const ALL: VariantParts = { copied: ['.'], linked: [] };

/**
 * Makes the copy in a temporary folder, with all other files that the programs need. The changed sources are TypeScript, by
 * their paths from the root.
 */
export async function makeVariant(
  changed: ReadonlyMap<string, string>,
  { copied, linked }: VariantParts = ALL,
): Promise<Variant> {
  const home = makeScratchFolder('variant');
  const remove = () => rm(home, { recursive: true });
  const folder = join(home, 'dist');
  try {
    for (const part of copied) {
      await cp(join(ROOT, 'dist', part), join(folder, part), { recursive: true });
    }
    for (const part of linked) {
      await mkdir(dirname(join(folder, part)), { recursive: true });
      await symlink(join(ROOT, 'dist', part), join(folder, part));
    }
    for (const name of ['package.json', 'package-lock.json']) await cp(join(ROOT, name), join(home, name));
    await symlink(join(ROOT, 'node_modules'), join(home, 'node_modules'));
    for (const [path, source] of changed) {
      await writeFile(join(folder, path.replace(/\.ts$/, '.js')), compile(path, source));
    }
  } catch (error) {
    await remove();
    throw error;
  }
  return { folder, remove };
}

/** The JavaScript of one source, as the build writes it. Throws if the source cannot be parsed. */
export function compile(path: string, source: string): string {
  try {
    return transformSync(source, { ...SWC, sourceMaps: false, filename: join(ROOT, path) }).code;
  } catch (error) {
    const [problem = ''] = (error as Error).message.trim().split('\n');
    throw new Error(`${path}: ${problem}`, { cause: error });
  }
}

/** The sources with their patches. Throws if a text is missing, because then its patch is out of date. */
export function patched(patches: readonly Patch[]): Map<string, string> {
  const sources = new Map<string, string>();
  for (const patch of patches) {
    const source = sources.get(patch.file) ?? readFileSync(join(ROOT, patch.file), 'utf8');
    sources.set(patch.file, applyPatch(source, patch));
  }
  return sources;
}

/** Replaces every occurrence of the text. */
export function applyPatch(source: string, { file, find, replace, lines }: Patch): string {
  const texts = lines === undefined ? [source] : source.split('\n');
  const isMeant = (text: string): boolean => text.includes(find) && (lines?.test(text) ?? true);
  if (!texts.some(isMeant)) throw new Error(`${file} does not contain the text to replace:\n${find}`);
  return texts.map((text) => (isMeant(text) ? text.replaceAll(find, () => replace) : text)).join('\n');
}
