import { rmSync } from 'node:fs';
import { makeScratchFolder } from './processes/scratch-folder';

/**
 * Makes a folder for the tests of one file, and removes the folder after the tests. Must be called by a running test.
 */
export function scratchFolder(): string {
  const folder = makeScratchFolder('files');
  folders.push(folder);
  return folder;
}

const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
