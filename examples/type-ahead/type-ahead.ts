/**
 * Completes the typed text after each key, from a dictionary and from the recents of the user.
 *
 *     npm run type-ahead -- --load      once: imports words into the dictionary
 *     npm run type-ahead
 *
 * With a pipe as its input, the program completes each line. Exit code 0: success. 1: the program failed, or the server
 * refused a line. 2: wrong arguments.
 */
import { UsageError } from '../worker-typescript/options';
import { stopOnSignals } from '../worker-typescript/signals';
import { spanText } from '../worker-typescript/words';
import { autocompleteServers, Calls, type AutocompleteServers } from './calls';
import { loadWords } from './load';
import { readOptions, USAGE, type Options } from './options';
import { answerLines } from './pipe';
import { noServerText, errorText } from './error-text';
import { Typist } from './typist';
import { findWordList, fileList } from './word-lists';

const EXIT = { success: 0, failed: 1, usage: 2 } as const;

const print = (text: string): void => console.log(text);
const count = (value: bigint | number): string => value.toLocaleString('en');

async function load(file: string | undefined, options: Options, servers: AutocompleteServers): Promise<void> {
  const list = file === undefined ? await findWordList({ env: process.env, print }) : fileList(file);
  try {
    print(`words from ${list.source}; weights: ${list.weights}`);
    const startedAt = performance.now();
    const { dictionary } = options;
    const loaded = await loadWords(servers.client(), dictionary, list.words(), print);
    const { entryCount = 0n, memoryBytes = 0n } = loaded.dictionary ?? {};
    if (loaded.skipped > 0) print(`${count(loaded.skipped)} lines left out: too long, or not UTF-8 text`);
    print(
      `${JSON.stringify(dictionary)} has ${count(entryCount)} words now, in ${count(memoryBytes / 1_000_000n)} MB; ` +
        `loaded in ${spanText(performance.now() - startedAt)}`,
    );
  } finally {
    await list.close();
  }
}

async function complete(options: Options, servers: AutocompleteServers): Promise<number> {
  const { dictionary, recents } = options;
  const { stdin, stdout } = process;
  const calls = new Calls(servers);
  const found = await calls.dictionary(dictionary);
  if (!stdin.isTTY || !stdout.isTTY) {
    const allAnswered = await answerLines({ servers, dictionary, recents, input: stdin, print });
    return allAnswered ? EXIT.success : EXIT.failed;
  }
  print(
    `${count(found?.entryCount ?? 0n)} words in ${JSON.stringify(dictionary)}; type, choose with Up and Down, ` +
      'pick with Enter or Tab; Ctrl-U clears, Ctrl-C ends; * marks a recent',
  );
  const isColored = (process.env['NO_COLOR'] ?? '') === '';
  const describeError = (error: unknown): string => errorText(error, options);
  const stop = stopOnSignals(() => undefined);
  const settings = { servers, calls, dictionary, recents, isColored, describeError, stop };
  await new Typist({ ...settings, keyboard: stdin, display: stdout }).done;
  return EXIT.success;
}

async function run(options: Options): Promise<number> {
  const servers = autocompleteServers(options.servers);
  try {
    if (!(await servers.connect())) throw new Error(noServerText(options.servers));
    if (options.load === undefined) return await complete(options, servers);
    await load(options.load.file, options, servers);
    return EXIT.success;
  } catch (error) {
    // A failed import changes nothing.
    const outcome =
      options.load === undefined
        ? ''
        : `\nno words were loaded: ${JSON.stringify(options.dictionary)} is unchanged`;
    console.error(`${errorText(error, options)}${outcome}`);
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
