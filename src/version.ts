import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The package's version; the sources and their compiled form lie at different depths below it. */
export function readVersion(): string {
  for (let folder = __dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const file = join(folder, 'package.json');
    if (!existsSync(file)) continue;
    const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version?: unknown };
    if (typeof version === 'string') return version;
  }
  throw new Error('package.json with a version is missing above the program');
}
