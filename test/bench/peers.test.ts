import type { Engine } from '../../bench/peers/peer';
import { sqliteTrigram } from '../../bench/peers/sqlite-trigram';
import { zrangebylex } from '../../bench/peers/zrangebylex';
import type { Item } from '../../bench/words/corpus';

const NAMES = ['anna müller', 'anna maria', 'мария иванова', 'hannah mu', 'zoe'];
const items: Item[] = NAMES.map((name, index) => ({
  id: String(index),
  text: name,
  folded: name,
  weight: index + 1,
}));

async function opened(open: typeof zrangebylex.open): Promise<Engine | undefined> {
  const engine = await open();
  if ('missing' in engine) return undefined;
  await engine.load('names', items);
  await engine.empty();
  return engine;
}

test('ZRANGEBYLEX answers the ids of texts with a prefix in the order of texts', async () => {
  const engine = (await opened(() => zrangebylex.open()))!;
  expect(await engine.find('names', 'prefix', 'anna ')).toEqual(['1', '0']);
  expect(await engine.find('names', 'prefix', 'мар')).toEqual(['2']);
  expect(await engine.find('names', 'prefix', 'x')).toEqual([]);
  await engine.close();
});

test('SQLite trigrams answer parts of texts in the order of weights', async () => {
  const engine = await opened(() => sqliteTrigram.open());
  if (engine === undefined) return; // This machine has no Python with SQLite and trigrams.
  expect(await engine.find('names', 'prefix', 'an')).toEqual(['1', '0']);
  expect(await engine.find('names', 'word prefix', 'mu')).toEqual(['3']);
  expect(await engine.find('names', 'word prefix', 'an')).toEqual(['1', '0']);
  expect(await engine.find('names', 'suffix', 'ва')).toEqual(['2']);
  expect(await engine.find('names', 'contains', 'nna')).toEqual(['3', '1', '0']);
  await engine.close();
});
