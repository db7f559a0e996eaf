import type { Command } from 'commander';
import { ownNames } from '../../clients/typescript/server-texts';
import {
  AddRecentRequest,
  RemoveRecentRequest,
  SuggestRecentsRequest,
  SuggestRequest,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import {
  AcquireLockRequest,
  ListLocksRequest,
  RevokeLockRequest,
} from '../../generated/typescript/holdfast/v1/lock_service';
import {
  AcquirePermitsRequest,
  DeleteSemaphoreRequest,
  ListSemaphoresRequest,
  RevokePermitsRequest,
  SetSemaphoreLimitRequest,
} from '../../generated/typescript/holdfast/v1/semaphore_service';
import {
  EndQuarantineRequest,
  ListCallersRequest,
} from '../../generated/typescript/holdfast/v1/server_service';
import { inWordsOfFlags } from '../../src/cli/output';
import { createProgram } from '../../src/cli/program';
import type { Terminal } from '../../src/cli/terminal';
import { runProgram } from '../support/cli/run-program';

/** Texts of a server name fields. The program says them with its flags. */

interface Message {
  create(): object;
}
/** The fields of the one-of `target`. */
const TARGETS = ['fencing_token', 'all_holders', 'waiter_position'];
const REQUESTS: readonly (readonly [command: string, message: Message, more?: readonly string[]])[] = [
  ['lock run', AcquireLockRequest],
  ['semaphore run', AcquirePermitsRequest],
  ['elect', AcquireLockRequest],
  ['lock list', ListLocksRequest],
  ['semaphore list', ListSemaphoresRequest],
  ['lock revoke', RevokeLockRequest, TARGETS],
  ['semaphore revoke', RevokePermitsRequest, TARGETS],
  ['lock revoke', ListLocksRequest],
  ['semaphore set-limit', SetSemaphoreLimitRequest],
  ['semaphore delete', DeleteSemaphoreRequest],
  ['complete suggest', SuggestRequest],
  ['complete type', SuggestRequest],
  ['complete recents add', AddRecentRequest],
  ['complete recents list', SuggestRecentsRequest],
  ['complete recents remove', RemoveRecentRequest],
  ['top', ListCallersRequest],
  ['end-quarantine', EndQuarantineRequest],
];

/** The flag of each field. A command without the flag has the field as an argument, or sets it by itself. */
const FLAGS: Readonly<Record<string, string>> = {
  all_holders: '--all',
  capacity: '--capacity',
  entry_id: '--entry-id',
  expected_limit: '--expected',
  fencing_token: '--token',
  force: '--force',
  holder_id: '--holder',
  identity: '--identity',
  initial_limit: '--limit',
  page_size: '--limit',
  permit_count: '--permits',
  reason: '--reason',
  recents_list: '--recents',
  ttl: '--ttl',
  wait_timeout: '--wait',
  waiter_position: '--waiter',
};
/** Arguments, and fields that the program sets or checks itself, or that have several flags. */
const WITHOUT_FLAG = new Set(
  `address count dictionary enqueue_time limit list match_kinds max_staleness metadata mode name name_prefix order_by
  page_token payload query request_id request_options options paused target text wait_options`.split(/\s+/),
);
/** Flags that are no field: of the program, of its watchdog, or checked before a request is made. */
const OWN_FLAGS = new Set(
  `address all by ca callers cert contended context dry-run exit-not-granted grace interval key max-hold once output
  prefix quiet server-name shared timeout tls no-tls token-file value yes`
    .split(/\s+/)
    .map((name) => `--${name}`),
);

function flagsOf(words: string): string[] {
  let command: Command = createProgram({ env: {} } as Terminal);
  for (const word of words.split(' ')) command = command.commands.find((one) => one.name() === word)!;
  return command.options.flatMap(({ long }) => (long ? [long] : []));
}

function fieldsOf(message: Message, more: readonly string[]): string[] {
  const names = Object.keys(message.create()).map((key) =>
    key.replace(/[A-Z]/g, (one) => `_${one.toLowerCase()}`),
  );
  return [...names, ...more].filter((name) => !name.startsWith('$'));
}

test.each(REQUESTS.map(([words, message, more = []]) => [words, message, more] as const))(
  'each field of a request of %s is told with its flag',
  (words, message, more) => {
    const flags = flagsOf(words);
    for (const field of fieldsOf(message, more)) {
      const flag = FLAGS[field];
      if (flag === undefined) expect([...WITHOUT_FLAG]).toContain(field);
      else if (flags.includes(flag)) {
        for (const problem of [
          'is too long',
          'must be at least 1',
          'has 300 bytes; at most 256 are accepted',
        ]) {
          expect(inWordsOfFlags(ownNames(`${field} ${problem}`))).toBe(`${flag} ${problem}`);
          expect(inWordsOfFlags(ownNames(`name is empty; ${field} ${problem}`))).toContain(
            `; ${flag} ${problem}`,
          );
        }
      }
    }
  },
);

test('each flag of these commands stands for a field, or is known to stand for none', () => {
  const fieldFlags = new Set(Object.values(FLAGS));
  for (const [words] of REQUESTS) {
    expect(flagsOf(words).filter((flag) => !fieldFlags.has(flag) && !OWN_FLAGS.has(flag))).toEqual([]);
  }
});

test.each([
  ['top --limit 900', '1 to 500'],
  ['complete suggest towns a --limit 101', '1 to 100'],
  ['complete recents list mine a --limit 101', '1 to 100'],
  ['complete recents add mine a --capacity 1001', '1 to 1000'],
])('%s is refused with the range, before anything is sent', async (args, range) => {
  const { err, code } = await runProgram(args.split(' '));
  expect([err, code]).toEqual([expect.stringContaining(`It must be a whole number from ${range}.`), 64]);
});

test.each([
  ['lock "raise wait" is held; raise wait to queue', 'lock "raise wait" is held; raise --wait to queue'],
  ['one is needed: send the metadata "authorization: Bearer <token>"', 'one is needed: give --token-file'],
  ['holderId is too long', '--holder is too long'],
  ['value has 9000 bytes', '--value has 9000 bytes'],
  ['ttl is 1ms and must be at least 100ms', '--ttl is 1ms and must be at least 100ms'],
  [
    'it does not exist; leave expectedLimit unset to create it',
    'it does not exist; leave out --expected to create it',
  ],
])('%s is told with flags', (text, told) => {
  expect(inWordsOfFlags(text)).toBe(told);
});
