import { cp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeScratchFolder } from './processes/scratch-folder';
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

/** Makes the copy in a temporary folder, with all other files that the programs need. */
export async function makeVariant(patches: readonly Patch[]): Promise<Variant> {
  const home = makeScratchFolder('variant');
  const remove = () => rm(home, { recursive: true });
  const folder = join(home, 'dist');
  try {
    await cp(join(ROOT, 'dist'), folder, { recursive: true });
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
