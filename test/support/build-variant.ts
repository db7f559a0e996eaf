import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeScratchFolder } from './scratch-folder';
import { ROOT } from './root';

/** One exact replacement in a built file. */
export interface Patch {
  /** The path below dist/. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** A copy of the build with some replacements, for a mutant or a benchmark's reference. */
export interface Variant {
  /** The copy's dist/. */
  readonly folder: string;
  remove(): Promise<void>;
}

/** Folders below dist/. */
export interface VariantParts {
  readonly copied: readonly string[];
  /** Folders without a replacement, which the copied code reads. */
  readonly linked: readonly string[];
}

const ALL: VariantParts = { copied: ['.'], linked: [] };

/** Makes the copy in a temporary folder, with all other files that the programs need. */
export async function makeVariant(
  patches: readonly Patch[],
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
    for (const patch of patches) {
      const path = join(folder, patch.file);
      await writeFile(path, applyPatch(await readFile(path, 'utf8'), patch));
    }
  } catch (error) {
    await remove();
    throw error;
  }
  return { folder, remove };
}

/** Replaces every occurrence of the text. Throws if the text is missing, because then the patch is out of date. */
export function applyPatch(text: string, { file, find, replace }: Patch): string {
  const parts = text.split(find);
  if (parts.length === 1) throw new Error(`dist/${file} does not contain the text to replace:\n${find}`);
  return parts.join(replace);
}
