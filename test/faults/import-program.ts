/**
 * The program that import-process.ts starts. It imports batches into the dictionary of its argument until it is killed.
 */
import { DictionaryClient } from './dictionary-client';
import { towns } from './towns';

async function run(address: string, dictionary: string): Promise<void> {
  const running = new DictionaryClient(address).startImport(dictionary);
  void running.ended.then((ending) => console.error(ending));
  for (let batch = 0; !running.over; batch += 1) await running.send(towns(50, `batch ${batch}`));
}

if (require.main === module) {
  const [address = '', dictionary = ''] = process.argv.slice(2);
  run(address, dictionary).catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
}
