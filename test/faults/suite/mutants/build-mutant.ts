import { join } from 'node:path';
import { makeVariant, patched } from '../../../support/build-variant';
import type { Programs } from '../round';
import type { Mutant } from './mutants';

export interface BuiltMutant {
  readonly programs: Programs;
  remove(): Promise<void>;
}

/** Copies the built product, with the mutant's patches in its sources. */
export async function buildMutant({ patches }: Mutant): Promise<BuiltMutant> {
  const { folder, remove } = await makeVariant(patched(patches));
  return {
    programs: {
      servers: [join(folder, 'src', 'main.js')],
      client: join(folder, 'test', 'faults', 'client-program.js'),
    },
    remove,
  };
}
