/**
 * Suggests words while somebody types. Each line of stdin is the text of the input field after one more key.
 *
 *     npm run type-ahead -- fruits --import examples/fruits.txt
 */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { connect, type Dictionary, type Entry, type TypeAhead } from '@holdfast/client';
import { failed, readArguments } from './program';

const given = readArguments('type-ahead', { import: '', servers: '127.0.0.1:50051', 'debounce-ms': '30' });

/** Replaces all entries. The file is read as fast as the server takes the lines, so that it need not fit into memory. */
async function importFile(dictionary: Dictionary, path: string): Promise<void> {
  async function* entries(): AsyncGenerator<Entry> {
    for await (const line of createInterface({ input: createReadStream(path) })) {
      if (line.trim() !== '') yield { id: line, text: line };
    }
  }
  const { entryCount } = await dictionary.import(entries());
  console.log(`imported ${entryCount} entries`);
}

async function show(field: TypeAhead, text: string): Promise<void> {
  try {
    const suggestions = await field.type(text);
    if (suggestions === undefined) return; // superseded by a newer text
    console.log(`${text}: ${suggestions.map((one) => one.text).join(', ') || 'nothing'}`);
  } catch (error) {
    failed(error as Error);
  }
}

async function main(): Promise<void> {
  const hf = await connect(given.servers);
  try {
    const dictionary = hf.dictionary(given.name);
    if (given.import !== '') await importFile(dictionary, given.import);
    const field = dictionary.typeAhead({ debounce: Number(given['debounce-ms']), limit: 5 });
    let last = Promise.resolve();
    for await (const text of createInterface({ input: process.stdin })) last = show(field, text);
    await last;
    field.close();
  } finally {
    await hf.close();
  }
}

main().catch(failed);
