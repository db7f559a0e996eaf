import { statSync } from 'node:fs';
import { Option, type Command } from 'commander';
import type { Entry, Holdfast } from '../../../clients/typescript';
import {
  AutocompleteServiceService as service,
  Dictionary,
  ListedEntry,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { connected, type ConnectionFlags, type OutputFlags, outputOf, printing, withClient } from '../client';
import { type Terminal, UsageError } from '../terminal';
import {
  checkedEntry,
  entriesOf,
  ENTRY_FORMATS,
  type EntryFormat,
  EntryProblem,
  formatOfName,
} from '../files/entry-formats';
import { type Bytes, fileBytes, interruptible, unreadable } from '../files/records';
import { Progress, quoted } from '../output';
import type { Column } from '../table';
import { profiled, profileOf, type ProfileFlags } from './dictionaries';

export function addEntryCommands(parent: Command, terminal: Terminal): void {
  addEntries(parent, terminal);
  addPut(parent, terminal);
  addImport(parent, terminal);
  addDelete(parent, terminal);
}

function addEntries(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('entries')
    .summary('list the entries of a dictionary')
    .description('Lists the entries of a dictionary in the order of their texts, with their selections.')
    .argument('<dictionary>', 'name of the dictionary')
    .argument('[prefix]', 'only texts that begin with this text; case does not count', '');
  connected(printing(command)).action(
    async (name: string, prefix: string, flags: ConnectionFlags & OutputFlags) => {
      await withClient(terminal, flags, (hf) =>
        outputOf(terminal, flags).rows(
          entryPages(hf, name, prefix, terminal.interrupted),
          (row) => ListedEntry.toJSON(row),
          COLUMNS,
        ),
      );
    },
  );
}

/** Texts with the prefix are below this text: U+10FFFF is the highest code point, and folding keeps the character. */
const HIGHEST = '\u{10ffff}';

/** All entries in the order of their texts. Ends without an error when `signal` aborts between two pages. */
export async function* entryPages(
  hf: Holdfast,
  dictionary: string,
  prefix: string,
  signal: AbortSignal,
): AsyncGenerator<readonly ListedEntry[], void, undefined> {
  const endText = prefix === '' ? '' : prefix + HIGHEST;
  const request = { dictionary, startText: prefix, endText, pageSize: 500, pageToken: '' };
  do {
    const page = await hf.call(service.listEntries, request, { signal });
    yield page.entries;
    request.pageToken = page.nextPageToken;
  } while (request.pageToken !== '' && !signal.aborted);
}

const COLUMNS: readonly Column<ListedEntry>[] = [
  { title: 'ID', value: ({ entry }) => entry?.entryId ?? '', mayShrink: true },
  { title: 'TEXT', value: ({ entry }) => entry?.text ?? '', mayShrink: true },
  { title: 'WEIGHT', value: ({ entry }) => String(entry?.weight ?? 0), isNumber: true },
  { title: 'SELECTED', value: ({ selectionCount }) => String(selectionCount), isNumber: true },
  { title: 'ALIASES', value: ({ entry }) => entry?.aliases.join(', ') ?? '', mayShrink: true },
];

interface PutFlags extends ConnectionFlags {
  alias?: string[];
  weight?: string;
  payload?: string;
}

function addPut(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('put')
    .summary('add or replace entries')
    .description(
      'Adds or replaces one entry, or the entries of JSON lines on stdin. Other entries of the dictionary stay.',
    )
    .argument('<dictionary>', 'name of the dictionary, which must exist')
    .argument('[entry_id]', 'id of the entry; without an id, stdin has the entries')
    .argument('[text]', 'text of the entry')
    .option('--alias <text...>', 'more texts that find the entry')
    .option('--weight <number>', 'rank among entries of the same kind (default: 0)')
    .option('--payload <text>', 'data that suggestions carry');
  connected(command)
    .addHelpText('after', PUT_HELP)
    .action(async (name: string, id: string | undefined, text: string | undefined, flags: PutFlags) => {
      if (id !== undefined && text === undefined) throw new UsageError('give the text after the entry id');
      const source = id === undefined ? stdinEntries(terminal) : [givenEntry(id, text, flags)];
      let count = 0;
      const counted = counting(source, () => (count += 1));
      await withClient(terminal, flags, (hf) =>
        hf.dictionary(name).put(counted, { signal: terminal.interrupted }),
      );
      terminal.err.write(`put: ${entryCount(count)} into ${quoted(name)}\n`);
    });
}

const PUT_HELP = `
Examples:
  holdfast complete put towns 3 "New York" --alias NYC --weight 90
  printf '{"entryId":"3","text":"New York"}\\n' | holdfast complete put towns`;

function stdinEntries({ input, interrupted }: Terminal): AsyncIterable<Entry> {
  return entriesOf(interruptible(input, interrupted), 'jsonl', 'stdin');
}

function givenEntry(entryId: string, text: string | undefined, { alias, weight, payload }: PutFlags): Entry {
  const encoded = payload === undefined ? undefined : Buffer.from(payload).toString('base64');
  try {
    return checkedEntry({ entryId, text, aliases: alias, weight, payload: encoded });
  } catch (error) {
    throw error instanceof EntryProblem ? new UsageError(error.message) : error;
  }
}

async function* counting<T>(source: Iterable<T> | AsyncIterable<T>, count: () => void) {
  for await (const value of source) {
    count();
    yield value;
  }
}

export function entryCount(count: number | bigint): string {
  return `${count} ${Number(count) === 1 ? 'entry' : 'entries'}`;
}

interface ImportFlags extends ConnectionFlags, OutputFlags, ProfileFlags {
  format?: EntryFormat;
}

function addImport(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('import')
    .summary('replace all entries of a dictionary')
    .description(
      'Replaces all entries of a dictionary in one step, or creates the dictionary. A failed import changes nothing.',
    )
    .argument('<dictionary>', 'name of the dictionary')
    .argument('<file>', 'file with the entries; - reads stdin')
    .addOption(
      new Option('--format <format>', 'format of the file (default: by the ending of its name)').choices(
        ENTRY_FORMATS,
      ),
    );
  connected(printing(profiled(command)))
    .addHelpText('after', IMPORT_HELP)
    .action(async (name: string, file: string, flags: ImportFlags) => {
      const { bytes, size } = opened(terminal, file);
      const format = flags.format ?? formatOfName(file === '-' ? 'stdin' : file);
      const info = await withClient(terminal, flags, (hf) =>
        importFile(terminal, hf, name, { bytes, size, format, file, ...profileOf(flags) }),
      );
      terminal.err.write(`imported: ${entryCount(info.entryCount)} into ${quoted(name)}\n`);
      if (flags.output !== 'table') await outputOf(terminal, flags).one(Dictionary.toJSON(info), () => []);
    });
}

const IMPORT_HELP = `
Formats:
  jsonl  one entry per line:
         {"entryId":"3","text":"New York","aliases":["NYC"],"weight":90}
  csv    a header with the columns id, text, aliases, weight, payload;
         aliases are divided by |
  tsv    as csv, with tabs and without quotes
  text   one text per line, which is also the id

Without "id", the text is the id. The payload is in base64. If an id comes
twice, the last entry counts.

Example:
  holdfast complete import words /usr/share/dict/words --format text`;

interface Import {
  readonly bytes: Bytes;
  readonly size: number | undefined;
  readonly format: EntryFormat;
  readonly file: string;
}

async function importFile(
  terminal: Terminal,
  hf: Holdfast,
  name: string,
  { bytes, size, format, file, ...profile }: Import & ReturnType<typeof profileOf>,
): Promise<Dictionary> {
  const progress = new Progress(terminal, size);
  let read = 0;
  let count = 0;
  const measured = measuring(interruptible(bytes, terminal.interrupted), (length) => (read += length));
  const entries = counting(entriesOf(measured, format, file === '-' ? 'stdin' : file), () =>
    progress.show(read, (count += 1)),
  );
  try {
    return await hf.dictionary(name).import(entries, { ...profile, signal: terminal.interrupted });
  } finally {
    progress.end();
  }
}

async function* measuring(bytes: Bytes, add: (length: number) => void) {
  for await (const piece of bytes) {
    add(piece.length);
    yield piece;
  }
}

/** The bytes of a file, and their number if the file is a regular file. */
function opened(terminal: Terminal, file: string): { bytes: Bytes; size: number | undefined } {
  if (file === '-') return { bytes: terminal.input, size: undefined };
  try {
    const stats = statSync(file);
    if (stats.isDirectory()) throw new Error('it is a folder');
    return { bytes: fileBytes(file), size: stats.isFile() ? stats.size : undefined };
  } catch (error) {
    throw unreadable(file, error);
  }
}

function addDelete(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('delete')
    .summary('delete entries, or a dictionary with --all')
    .description('Deletes entries and their selections. With --all, deletes the dictionary itself.')
    .argument('<dictionary>', 'name of the dictionary')
    .argument('[entry_ids...]', 'ids of the entries')
    .option('--all', 'delete the dictionary with all entries and selections');
  connected(command).action(
    async (name: string, ids: readonly string[], flags: ConnectionFlags & { all?: boolean }) => {
      if ((ids.length === 0) === (flags.all !== true)) {
        throw new UsageError('give the ids of the entries, or --all to delete the whole dictionary');
      }
      const text = await withClient(terminal, flags, async (hf) =>
        flags.all ? deleteAll(hf, name) : deleteEntries(hf, name, ids),
      );
      terminal.err.write(`${text}\n`);
    },
  );
}

async function deleteAll(hf: Holdfast, name: string): Promise<string> {
  const wasThere = await hf.dictionary(name).delete();
  return wasThere ? `deleted: dictionary ${quoted(name)}` : 'there was no such dictionary';
}

/** The largest number of ids in one call. */
const MAX_IDS = 1000;

async function deleteEntries(hf: Holdfast, name: string, ids: readonly string[]): Promise<string> {
  let count = 0;
  for (let i = 0; i < ids.length; i += MAX_IDS) {
    count += await hf.dictionary(name).deleteEntries(ids.slice(i, i + MAX_IDS));
  }
  return `deleted: ${entryCount(count)} of ${quoted(name)}`;
}
