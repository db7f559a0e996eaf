import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from './root';

/** One exact change of a built file. */
export interface Patch {
  /** From dist/. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** A copy of what is built that differs in some places; the product knows nothing of it. */
export interface Variant {
  /** Its dist/. */
  readonly folder: string;
  remove(): Promise<void>;
}

/** In a temporary folder, with all that its programs need beside it. */
export async function makeVariant(patches: readonly Patch[]): Promise<Variant> {
  const home = await mkdtemp(join(tmpdir(), 'holdfast-variant-'));
  const remove = () => rm(home, { recursive: true });
  const folder = join(home, 'dist');
  const root = projectRoot();
  try {
    await cp(join(root, 'dist'), folder, { recursive: true });
    for (const name of ['package.json', 'package-lock.json']) await cp(join(root, name), join(home, name));
    await symlink(join(root, 'node_modules'), join(home, 'node_modules'));
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

/** Replaces every place where the text is found; one that is nowhere found is out of date, and says so. */
export function applyPatch(text: string, { file, find, replace }: Patch): string {
  const parts = text.split(find);
  if (parts.length === 1)
    throw new Error(`dist/${file} has nowhere the text that is to be replaced:\n${find}`);
  return parts.join(replace);
}
