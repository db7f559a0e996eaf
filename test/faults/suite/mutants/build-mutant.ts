import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../../support/root';
import type { Programs } from '../round';
import type { Mutant } from './mutants';
import { applyPatch } from './patch';

export interface BuiltMutant {
  readonly programs: Programs;
  remove(): Promise<void>;
}

/** A copy of what is built, in a temporary folder, with the mutant's patches in it. The product knows nothing of it. */
export async function buildMutant({ patches }: Mutant): Promise<BuiltMutant> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-test-mutant-'));
  const remove = () => rm(folder, { recursive: true });
  try {
    await cp(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true });
    for (const name of ['package.json', 'package-lock.json']) await cp(join(ROOT, name), join(folder, name));
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    for (const patch of patches) {
      const path = join(folder, 'dist', patch.file);
      await writeFile(path, applyPatch(await readFile(path, 'utf8'), patch));
    }
  } catch (error) {
    await remove();
    throw error;
  }
  const built = join(folder, 'dist');
  return {
    programs: {
      server: join(built, 'src', 'main.js'),
      client: join(built, 'test', 'faults', 'client-program.js'),
    },
    remove,
  };
}
