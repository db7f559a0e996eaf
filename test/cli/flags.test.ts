import { readFileSync } from 'node:fs';
import { join } from 'node:path';
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
import { inWordsOfFlags, jsonText } from '../../src/cli/output';
import { createProgram } from '../../src/cli/program';
import { EXIT, EXIT_TEXTS, type Terminal } from '../../src/cli/terminal';
import { runProgram } from '../support/cli/run-program';
import { ROOT } from '../support/root';

describe('words of flags', () => {
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
});

describe('help of run', () => {
  /** The help of the three commands that run a command under a lease. */

  const COMMANDS = ['lock run', 'semaphore run', 'elect'];

  async function help(command: string): Promise<string> {
    const { out } = await runProgram([...command.split(' '), '--help']);
    return out.replace(/\s+/g, ' ');
  }

  test.each(COMMANDS)('the usage of %s has "--" before the command', async (command) => {
    expect(await help(command)).toContain(`Usage: holdfast ${command} [options] <name> -- <command...>`);
  });

  test.each(COMMANDS)('%s says where the command belongs after an option of the command', async (command) => {
    const { err, code } = await runProgram([...command.split(' '), 'a-name', 'ls', '-d', '/tmp']);
    expect(code).toBe(64);
    expect(err).toMatch(/^holdfast: unknown option '-d'\n\(write the command after "--"/);
  });

  test.each([
    ['lock run', 'which refuses smaller tokens'],
    ['elect', 'which refuses smaller tokens'],
    // Several holders write at the same time, with tokens in any order.
    ['semaphore run', 'Tokens of a semaphore do not order writes'],
  ])('%s gives the use of its fencing token', async (command, text) => {
    const shown = await help(command);
    expect(shown).toContain(text);
    expect(shown.includes('refuses smaller tokens')).toBe(command !== 'semaphore run');
  });

  test('elect says how others see the leader, and that holdfast does not stand again', async () => {
    const shown = await help('elect');
    expect(shown).toContain('"holdfast lock get NAME" shows the leader and its value');
    expect(shown).toContain('does not stand again');
  });

  test('"help" with the words of a command prints the help of the command', async () => {
    const { out } = await runProgram(['help', 'lock', 'run']);
    expect(out).toBe((await runProgram(['lock', 'run', '--help'])).out);
    expect(await runProgram(['help', 'lock', 'walk'])).toMatchObject({ code: 64 });
  });
});

describe('exit codes', () => {
  test('docs/cli.md has the exit codes of --help', async () => {
    const page = readFileSync(join(ROOT, 'docs', 'cli.md'), 'utf8');
    const rows = [...page.matchAll(/^\| `?([^|`]+?)`? \| ([^|]+?) +\|$/gm)].map(([, code, text]) => [
      code,
      text,
    ]);
    const first = rows.findIndex(([code]) => code === '0');
    expect(rows.slice(first, first + EXIT_TEXTS.length)).toEqual(EXIT_TEXTS);
  });

  test.each(['--help', 'lock run --help', 'semaphore run --help', 'elect --help'])(
    '%s lists all exit codes',
    async (args) => {
      const { out } = await runProgram(args.split(' '));
      for (const [code, text] of EXIT_TEXTS)
        expect(out).toMatch(new RegExp(`^  ${code} +${text}$`.replace('+ n', '\\+ n'), 'm'));
    },
  );

  test('the table has each code that the program uses', () => {
    const known = EXIT_TEXTS.flatMap(([code]) => code.split(', '));
    expect(
      Object.values(EXIT)
        .map(String)
        .filter((code) => !known.includes(code)),
    ).toEqual([]);
  });
});

describe('JSON output', () => {
  test.each([
    [{ seconds: '1700000000' }, '2023-11-14T22:13:20Z'],
    [{ seconds: '1700000000', nanos: 5_000_000 }, '2023-11-14T22:13:20.005Z'],
    [{ seconds: '1700000000', nanos: 1 }, '2023-11-14T22:13:20.000000001Z'],
    [{}, '1970-01-01T00:00:00Z'],
  ])('writes the time %j as protobuf does', (time, text) => {
    expect(jsonText({ freeTime: time })).toBe(`{"freeTime":"${text}"}`);
  });

  test.each([
    [{ seconds: '120' }, '120s'],
    [{ seconds: '1', nanos: 500_000_000 }, '1.500s'],
    [{ nanos: 1000 }, '0.000001s'],
    [{ seconds: '-1', nanos: -500_000_000 }, '-1.500s'],
    [{}, '0s'],
  ])('writes the duration %j as protobuf does', (span, text) => {
    expect(jsonText({ ttl: span, maxTtl: span })).toBe(`{"ttl":"${text}","maxTtl":"${text}"}`);
  });

  test('leaves texts and maps with the same names as they are', () => {
    expect(jsonText({ metadata: { ttl: 'long', startTime: 'now' } })).toBe(
      '{"metadata":{"ttl":"long","startTime":"now"}}',
    );
  });

  test('escapes controls and characters that turn the direction of text, in names and keys', () => {
    const value = { name: 'a\u202eb\u009bc', metadata: { '\u{e0061}': '\u2066' } };
    const text = jsonText(value);
    expect(text).toBe('{"name":"a\\u202eb\\u009bc","metadata":{"\\udb40\\udc61":"\\u2066"}}');
    expect(JSON.parse(text)).toEqual(value);
  });
});
