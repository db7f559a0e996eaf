import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock';
import { openAccess } from '../../src/access/open-access';
import { NO_LOG } from '../support/fake-call';
import { scratchFolder } from '../support/scratch-folder';

async function startWith(text: string | undefined) {
  const path = join(scratchFolder(), 'policy.yaml');
  if (text !== undefined) writeFileSync(path, text);
  return openAccess({ policy: { setting: 'HOLDFAST_POLICY', path } }, systemClock, NO_LOG);
}

test.each([
  [
    'a misspelt key',
    'rulez: []\n',
    /^HOLDFAST_POLICY: .*policy\.yaml is not a policy:\n.*line 1: rulez: is not a known key/s,
  ],
  ['no file', undefined, /^HOLDFAST_POLICY cannot be read: /],
  [
    'a file that is too large',
    `# ${'x'.repeat(300_000)}\nrules: []\n`,
    /300\d\d\d bytes; at most 262144 are accepted/,
  ],
])('the start fails with %s, and the message names the setting', async (_title, text, message) => {
  await expect(startWith(text)).rejects.toThrow(message);
});

test('the start succeeds with a policy that allows nothing', async () => {
  const opened = await startWith('rules: []\n');
  expect(opened.authorization?.policy.permissionsOf('token:a').allows('LockService', 'read', 'x')).toBe(
    false,
  );
  opened.close();
});
