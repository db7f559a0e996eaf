import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The project's folder: this file runs in `test/`, or in `dist/test/` once it is built. */
export const ROOT = [join(__dirname, '..', '..'), join(__dirname, '..', '..', '..')].find((folder) =>
  existsSync(join(folder, 'package-lock.json')),
)!;
