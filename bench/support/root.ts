import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The project's folder: the sources and their compiled form lie at different depths below it. */
export function projectRoot(): string {
  for (let folder = __dirname; folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
  }
  throw new Error('package.json is missing above the benchmarks');
}
