import { rmSync } from 'node:fs';
import { makeScratchFolder } from './processes/scratch-folder';

/** Makes a folder for the tests of one file and removes it after them. Call it while the tests run. */
export function scratchFolder(): string {
  const folder = makeScratchFolder('files');
  folders.push(folder);
  return folder;
}

const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
