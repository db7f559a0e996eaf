import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder of a test file's own, removed when all of that file's tests are through. Call it while they run. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
  folders.push(folder);
  return folder;
}

const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
