import type { Command } from 'commander';
import type { Holdfast, Suggestion } from '../../../clients/typescript';
import { connected, type ConnectionFlags, type OutputFlags, outputOf, printing, withClient } from '../client';
import { interruptible, linesOf } from '../files/records';
import type { Column } from '../table';
import { type Terminal, wholeNumber } from '../terminal';
import { typeOnTerminal } from './type';

export const SUGGESTION_COLUMNS: readonly Column<Suggestion>[] = [
  { title: 'TEXT', value: ({ text }) => text, mayShrink: true },
  { title: 'MATCH', value: ({ matchKind }) => matchKind.toLowerCase() },
  { title: 'SCORE', value: ({ score }) => String(score), isNumber: true },
  { title: 'RECENT', value: ({ isRecent }) => (isRecent ? 'yes' : '') },
  { title: 'ID', value: ({ id }) => id, mayShrink: true },
];

/** The JSON form of the message Suggestion: fields with their default are left out. */
export function suggestionToJson(suggestion: Suggestion): Record<string, unknown> {
  const { id, text, segments, payload, matchKind, score, isRecent } = suggestion;
  return {
    ...(id && { entryId: id }),
    text,
    segments: segments.map((one) => ({ text: one.text, ...(one.matched && { matched: true }) })),
    ...(payload.length > 0 && { payload: Buffer.from(payload).toString('base64') }),
    matchKind: `MATCH_KIND_${matchKind}`,
    ...(score !== 0 && { score: String(score) }),
    ...(isRecent && { recent: true }),
  };
}

interface Flags extends ConnectionFlags, OutputFlags {
  limit: number;
  recents?: string;
}

function suggesting(command: Command): Command {
  return command
    .option('--limit <count>', 'the largest number of suggestions, at most 100', wholeNumber(1, 100), 10)
    .option('--recents <list>', 'list of recents, which come first');
}

export function addSuggest(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('suggest')
    .summary('show the suggestions for a text')
    .description('Shows the suggestions for a text, the best first. An empty text shows the top entries.')
    .argument('<dictionary>', 'name of the dictionary')
    .argument('<query>', 'the typed text');
  connected(printing(suggesting(command)))
    .addHelpText('after', '\nExample:\n  holdfast complete suggest towns "new yo" --limit 5')
    .action(async (dictionary: string, query: string, flags: Flags) => {
      await withClient(terminal, flags, async (hf) => {
        const { limit, recents } = flags;
        const { interrupted: signal } = terminal;
        const asked = { limit, signal, ...(recents !== undefined && { recents }) };
        const rows = await hf.dictionary(dictionary).suggest(query, asked);
        await outputOf(terminal, flags).rows([rows], suggestionToJson, SUGGESTION_COLUMNS);
      });
    });
}

export function addType(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('type')
    .summary('suggest while you type')
    .description(
      'Suggests at each keystroke, and prints the chosen suggestion. Without a terminal: answers each line of stdin.',
    )
    .argument('<dictionary>', 'name of the dictionary');
  connected(printing(suggesting(command)))
    .addHelpText('after', TYPE_HELP)
    .action(async (dictionary: string, flags: Flags) => {
      await withClient(terminal, flags, async (hf) => {
        if (!('isTTY' in terminal.input && terminal.input.isTTY) || !terminal.errIsTerminal)
          return answerLines(terminal, hf, dictionary, flags);
        const chosen = await typeOnTerminal(terminal, hf, dictionary, flags);
        if (chosen === undefined) return;
        await outputOf(terminal, flags).one(suggestionToJson(chosen), () => [chosen.text]);
      });
    });
}

interface Answer {
  readonly query: string;
  readonly suggestions: readonly Suggestion[];
}

/** One query after the other, over one stream. */
async function answerLines(
  terminal: Terminal,
  hf: Holdfast,
  dictionary: string,
  flags: Flags,
): Promise<void> {
  const { limit, recents } = flags;
  const typeAhead = hf.dictionary(dictionary).typeAhead({
    ...{ limit, debounce: 0, signal: terminal.interrupted },
    ...(recents !== undefined && { recents }),
  });
  try {
    await print(
      terminal,
      flags,
      answers(terminal, (query) => typeAhead.type(query)),
    );
  } finally {
    typeAhead.close();
  }
}

async function* answers(
  { input, interrupted }: Terminal,
  ask: (query: string) => Promise<Suggestion[] | undefined>,
): AsyncGenerator<Answer, void, undefined> {
  for await (const { text } of linesOf(interruptible(input, interrupted), 'stdin')) {
    yield { query: text, suggestions: (await ask(text)) ?? [] };
  }
}

/** As a table each suggestion is a row beside its query. As JSON each query is an object with its suggestions. */
async function print(terminal: Terminal, flags: Flags, asked: AsyncIterable<Answer>): Promise<void> {
  const output = outputOf(terminal, flags);
  const toJson = ({ query, suggestions }: Answer) => ({
    query,
    suggestions: suggestions.map(suggestionToJson),
  });
  if (output.format !== 'table') {
    await output.rows(
      mapped(asked, (answer) => [answer]),
      toJson,
      [],
    );
    return;
  }
  const rows = mapped(asked, ({ query, suggestions }) => suggestions.map((one) => ({ query, one })));
  await output.rows(rows, String, [
    { title: 'QUERY', value: ({ query }) => query, mayShrink: true },
    ...SUGGESTION_COLUMNS.map((column) => ({
      ...column,
      value: ({ one }: { one: Suggestion }) => column.value(one),
    })),
  ]);
}

async function* mapped<T, U>(source: AsyncIterable<T>, map: (value: T) => U) {
  for await (const value of source) yield map(value);
}

const TYPE_HELP = `
Keys: ↑ ↓ choose, Enter prints the choice, Esc or Ctrl-C ends without a choice,
Ctrl-U clears the line.

Examples:
  town=$(holdfast complete type towns)
  printf 'par\\nlon\\n' | holdfast complete type towns -o jsonl`;
