import { join } from 'node:path';
import { unpackedPackages } from '../../../bench/words/debian-packages';

/** The path of a program of Prometheus, from the package of this machine's Debian release. Rejects if there is none. */
export async function prometheusProgram(name: 'prometheus' | 'promtool'): Promise<string> {
  const found = await unpackedPackages('prometheus', ['prometheus']);
  if ('missing' in found) throw new Error(`Prometheus cannot be had: ${found.missing}`);
  return join(found.folder, 'usr', 'bin', name);
}
