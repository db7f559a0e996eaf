import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The project's folder. The depth of this file below the project differs between the sources and dist/. */
export const ROOT = projectRoot();

function projectRoot(): string {
  for (let folder = __dirname; folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, 'package-lock.json'))) return folder;
  }
  throw new Error(`no package-lock.json above ${__dirname}`);
}
