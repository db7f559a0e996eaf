import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SessionCommand } from '../../generated/typescript/holdfast/v1/session_service';
import { describedCommands } from '../../src/access/verbs';
import { ROOT } from '../support/root';

const COMMANDS = describedCommands(readFileSync(join(ROOT, 'generated/descriptor.binpb')));

test('every kind of command of a session declares its verb', () => {
  expect(COMMANDS).toEqual([
    { kind: 'acquireLock', verb: 'use' },
    { kind: 'acquirePermits', verb: 'use' },
    { kind: 'attach', verb: 'use' },
    { kind: 'release', verb: 'use' },
    { kind: 'update', verb: 'use' },
    { kind: 'cancel', verb: 'none' },
  ]);
});

test('the kinds of commands are named as in the generated code', () => {
  for (const [index, { kind }] of COMMANDS.entries()) {
    // The kinds have the numbers from 2. An empty message of a kind has the wire type 2 and the length 0.
    const command = SessionCommand.decode(Uint8Array.of(((index + 2) << 3) | 2, 0));
    expect(command.command?.$case).toBe(kind);
  }
});
