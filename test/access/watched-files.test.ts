import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UnusableFile, WatchedFiles } from '../../src/access/watched-files';
import { eventually } from '../support/eventually';
import { scratchFolder } from '../support/scratch-folder';

interface Watched {
  readonly loads: readonly string[];
  readonly logged: readonly string[];
  /** The number of looks at the file. */
  readonly looks: () => number;
}

let watched: WatchedFiles | undefined;
afterEach(() => watched?.close());

/** Watches a file that has the next of these texts at each look, and the last text at all later looks. */
async function watch(
  texts: readonly string[],
  load: (text: string) => void = () => undefined,
): Promise<Watched> {
  const target = join(scratchFolder(), 'watched');
  const loads: string[] = [];
  const logged: string[] = [];
  const write = (_fields: object, message: string): void => void logged.push(message);
  let looks = 0;
  watched = new WatchedFiles({
    files: [
      {
        setting: 'SETTING',
        get path() {
          writeFileSync(target, texts[Math.min(looks, texts.length - 1)] ?? '');
          looks += 1;
          return target;
        },
      },
    ],
    subject: 'the file',
    maxBytes: 100,
    load: ([content]) => {
      loads.push(String(content));
      load(String(content));
    },
    log: { debug: write, info: write, warn: write, error: write },
    intervalMs: 1,
  });
  await watched.start();
  return { loads, logged, looks: () => looks };
}

test('a content that only one look has found is not used, because the file may be half written', async () => {
  const { loads } = await watch(['whole', 'whole', '', 'ha', 'half', 'whole', 'ne', 'new', 'new']);
  await eventually('the new content', () => loads.at(-1) === 'new');
  expect(loads).toEqual(['whole', 'new']);
});

test('a content that cannot be used is tried once', async () => {
  const refuse = (text: string): void => {
    if (text === 'bad') throw new UnusableFile('it is bad');
  };
  const { loads, logged, looks } = await watch(['good', 'bad'], refuse);
  await eventually('some looks', () => looks() > 20);
  expect(loads).toEqual(['good', 'bad']);
  expect(watched?.hasFailed).toBe(true);
  expect(logged).toEqual(['the file could not be loaded again; the last good ones stay in use']);
});

test('a failed load counts as failed until the file has the last good content or a new good one', async () => {
  const refuse = (text: string): void => {
    if (text === 'bad') throw new UnusableFile('it is bad');
  };
  for (const end of ['good', 'new']) {
    const texts = ['good', 'bad'];
    await watch(texts, refuse);
    await eventually('the failure', () => watched?.hasFailed === true);
    texts.push(end);
    await eventually('the end of the failure', () => watched?.hasFailed === false);
    watched?.close();
  }
});

test('a load that fails for another reason is tried again, and the log names the failure once', async () => {
  let failures = 3;
  const fail = (text: string): void => {
    if (text === 'new' && (failures -= 1) >= 0) throw new Error('no thread');
  };
  const { loads, logged, looks } = await watch(['old', 'new'], fail);
  await eventually('the new content', () => logged.includes('loaded the file again'));
  const count = looks();
  await eventually('more looks', () => looks() > count + 5);
  expect(loads).toEqual(['old', 'new', 'new', 'new', 'new']);
  expect(logged).toEqual([
    'the file could not be loaded again; the last good ones stay in use',
    'loaded the file again',
  ]);
});
