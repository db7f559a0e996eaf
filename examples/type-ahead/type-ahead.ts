/**
 * Completes what is typed, key by key, out of a dictionary of words and of what the same person picked before.
 *
 *     npm run type-ahead -- --load      once: words for the dictionary
 *     npm run type-ahead
 *
 * With a pipe in front it answers to each line instead. Exit code 0: all went well. 1: it did not, or a line was
 * refused. 2: wrong arguments.
 */
import { UsageError } from '../worker-typescript/options';
import { stopOnSignals } from '../worker-typescript/signals';
import { spanText } from '../worker-typescript/words';
import { autocompleteServers, Calls, type AutocompleteServers } from './calls';
import { loadWords } from './load';
import { readOptions, USAGE, type Options } from './options';
import { answerLines } from './pipe';
import { noServerText, troubleText } from './trouble';
import { Typist } from './typist';
import { anyList, fileList } from './word-lists';

const EXIT = { well: 0, failed: 1, usage: 2 } as const;

const say = (text: string): void => console.log(text);
const count = (of: bigint | number): string => of.toLocaleString('en');

async function load(file: string | undefined, options: Options, servers: AutocompleteServers): Promise<void> {
  const list = file === undefined ? await anyList({ env: process.env, say }) : fileList(file);
  try {
    say(`words from ${list.source}; weights: ${list.weights}`);
    const startedAt = performance.now();
    const { dictionary } = options;
    const loaded = await loadWords(servers.client(), dictionary, list.words(), say);
    const { entryCount = 0n, memoryBytes = 0n } = loaded.dictionary ?? {};
    if (loaded.skipped > 0) say(`${count(loaded.skipped)} lines left out: too long, or not text in UTF-8`);
    say(
      `${JSON.stringify(dictionary)} has ${count(entryCount)} words now, in ${count(memoryBytes / 1_000_000n)} MB; ` +
        `loaded in ${spanText(performance.now() - startedAt)}`,
    );
  } finally {
    await list.end();
  }
}

async function complete(options: Options, servers: AutocompleteServers): Promise<number> {
  const { dictionary, recents } = options;
  const { stdin, stdout } = process;
  const calls = new Calls(servers);
  const found = await calls.dictionary(dictionary);
  if (!stdin.isTTY || !stdout.isTTY) {
    const allAnswered = await answerLines({ servers, dictionary, recents, input: stdin, say });
    return allAnswered ? EXIT.well : EXIT.failed;
  }
  say(
    `${count(found?.entryCount ?? 0n)} words in ${JSON.stringify(dictionary)}; type, choose with Up and Down, ` +
      'pick with Enter or Tab; Ctrl-U clears, Ctrl-C ends; * marks what you picked before',
  );
  const isColored = (process.env['NO_COLOR'] ?? '') === '';
  const trouble = (error: unknown): string => troubleText(error, options);
  const stop = stopOnSignals(() => undefined);
  const setting = { servers, calls, dictionary, recents, isColored, trouble, stop };
  await new Typist({ ...setting, keyboard: stdin, display: stdout }).done;
  return EXIT.well;
}

async function run(options: Options): Promise<number> {
  const servers = autocompleteServers(options.servers);
  try {
    if (!(await servers.connect())) throw new Error(noServerText(options.servers));
    if (options.load === undefined) return await complete(options, servers);
    await load(options.load.file, options, servers);
    return EXIT.well;
  } catch (error) {
    // An import that did not come to its end has changed nothing.
    const outcome =
      options.load === undefined
        ? ''
        : `\nnothing was loaded: ${JSON.stringify(options.dictionary)} is as it was`;
    console.error(`${troubleText(error, options)}${outcome}`);
    return EXIT.failed;
  } finally {
    servers.close();
  }
}

async function main(): Promise<void> {
  try {
    process.exitCode = await run(readOptions(process.argv.slice(2)));
  } catch (error) {
    process.exitCode = error instanceof UsageError ? EXIT.usage : EXIT.failed;
    console.error(error instanceof UsageError ? `${error.message}\n${USAGE}` : error);
  }
}

void main();
