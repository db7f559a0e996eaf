import { Option, type Command } from 'commander';
import type { Holdfast, Profile } from '../../../clients/typescript';
import {
  accentHandlingToJSON,
  AutocompleteServiceService as service,
  Dictionary,
  loadStateToJSON,
  typoMatchingToJSON,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { connected, type ConnectionFlags, type OutputFlags, outputOf, printing, withClient } from '../client';
import { quoted, spanText } from '../output';
import { fields, type Column } from '../table';
import { type Terminal, timeOfDayMs } from '../terminal';
import { required, timeMs } from '../leases/kinds';

type Flags = ConnectionFlags & OutputFlags;

export interface ProfileFlags {
  accents?: 'kept' | 'dropped';
  typos?: 'on' | 'off';
}

/** Adds the options of a profile. */
export function profiled(command: Command): Command {
  return command
    .addOption(
      new Option('--accents <how>', 'whether accents distinguish texts, for a new dictionary').choices([
        'kept',
        'dropped',
      ]),
    )
    .addOption(
      new Option('--typos <how>', 'whether typos are tolerated, for a new dictionary').choices(['on', 'off']),
    );
}

/** Undefined if no option was given: an existing dictionary keeps its profile. */
export function profileOf({ accents, typos }: ProfileFlags): { profile?: Profile } {
  if (accents === undefined && typos === undefined) return {};
  return { profile: { ...(accents && { accents }), ...(typos && { typos: typos === 'on' }) } };
}

export function addDictionaryCommands(parent: Command, terminal: Terminal): void {
  addCreate(parent, terminal);
  addGet(parent, terminal);
  addList(parent, terminal);
}

function addCreate(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('create')
    .summary('create an empty dictionary')
    .description('Creates an empty dictionary. Changes nothing if the dictionary exists with this profile.')
    .argument('<dictionary>', 'name of the dictionary');
  connected(profiled(command)).action(async (name: string, flags: ConnectionFlags & ProfileFlags) => {
    await withClient(terminal, flags, (hf) => hf.dictionary(name).create(profileOf(flags)));
    terminal.err.write(`created: dictionary ${quoted(name)}\n`);
  });
}

function addGet(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('get')
    .summary('show the size and the profile of a dictionary')
    .description('Shows the size, the memory, the profile and the open imports of a dictionary.')
    .argument('<dictionary>', 'name of the dictionary');
  connected(printing(command)).action(async (name: string, flags: Flags) => {
    const info = required(
      await withClient(terminal, flags, (hf) => hf.dictionary(name).info()),
      `dictionary "${name}"`,
    );
    await outputOf(terminal, flags).one(Dictionary.toJSON(info), () => dictionaryLines(info));
  });
}

function dictionaryLines(info: Dictionary): string[] {
  const nowMs = timeOfDayMs();
  return fields([
    ['dictionary', info.name],
    ['entries', String(info.entryCount)],
    ['profile', profileText(info)],
    ['generation', String(info.generation)],
    ['store', sizeText(info.memoryBytes)],
    [
      'server',
      info.serverMemoryBytes === 0n
        ? loadText(info)
        : `${sizeText(info.serverMemoryBytes)}, ${loadText(info)}`,
    ],
    ...info.imports.map(({ startTime, receivedCount }) => {
      const since = startTime ? `, for ${spanText(nowMs - timeMs(startTime))}` : '';
      return ['open import', `${receivedCount} entries${since}`] as const;
    }),
  ]);
}

function addList(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('list')
    .summary('list the dictionaries')
    .description('Lists the dictionaries in the byte order of their names.')
    .argument('[prefix]', 'only names that begin with this text', '');
  connected(printing(command)).action(async (prefix: string, flags: Flags) => {
    await withClient(terminal, flags, (hf) =>
      outputOf(terminal, flags).rows(
        dictionaryPages(hf, prefix, terminal.interrupted),
        (row) => Dictionary.toJSON(row),
        COLUMNS,
      ),
    );
  });
}

/** All dictionaries with this prefix. Ends without an error when `signal` aborts between two pages. */
export async function* dictionaryPages(
  hf: Holdfast,
  namePrefix: string,
  signal: AbortSignal,
): AsyncGenerator<readonly Dictionary[], void, undefined> {
  let pageToken = '';
  do {
    const page = await hf.call(
      service.listDictionaries,
      { namePrefix, pageSize: 500, pageToken },
      { signal },
    );
    yield page.dictionaries;
    pageToken = page.nextPageToken;
  } while (pageToken !== '' && !signal.aborted);
}

const COLUMNS: readonly Column<Dictionary>[] = [
  { title: 'NAME', value: ({ name }) => name, mayShrink: true },
  { title: 'ENTRIES', value: ({ entryCount }) => String(entryCount), isNumber: true },
  { title: 'STORE', value: ({ memoryBytes }) => sizeText(memoryBytes), isNumber: true },
  { title: 'SERVER', value: ({ serverMemoryBytes }) => sizeText(serverMemoryBytes), isNumber: true },
  { title: 'PROFILE', value: profileText },
];

function profileText({ profile }: Dictionary): string {
  if (profile === undefined) return '';
  const accents = accentHandlingToJSON(profile.accents).replace('ACCENT_HANDLING_', '').toLowerCase();
  const typos = typoMatchingToJSON(profile.typoMatching).replace('TYPO_MATCHING_', '').toLowerCase();
  return `accents ${accents}, typos ${typos}`;
}

function loadText({ loadState }: Dictionary): string {
  return loadStateToJSON(loadState).replace('LOAD_STATE_', '').replaceAll('_', ' ').toLowerCase();
}

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'] as const;

function sizeText(bytes: bigint): string {
  let value = Number(bytes);
  if (value < 1024) return `${value} B`;
  let unit = -1;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit] ?? ''}`;
}
