import { writeFileSync } from 'node:fs';
import type { TypingProcess } from '../typing-process';
import { EXIT, type Scene, type SceneContext } from './scene';

/** So long that all lines of one write arrive within the debounce. */
const LONG_DEBOUNCE_MS = 3000;

function typeAhead(
  { stage, program }: SceneContext,
  args: readonly string[] = [],
  servers = stage.addresses,
): TypingProcess {
  return stage.typing(program('type-ahead'), [stage.name, '--servers', servers, ...args]);
}

/** Writes a file of words. Returns the arguments that import the file. */
function importOf({ stage }: SceneContext): string[] {
  const path = stage.file('words');
  writeFileSync(path, 'apple\napricot\n\nbanana\nblood orange\n');
  return ['--import', path];
}

async function answers(context: SceneContext): Promise<void> {
  const typing = typeAhead(context, importOf(context));
  await typing.line(/^imported 4 entries$/);
  typing.type('a');
  expect((await typing.line(/^a: /)).slice('a: '.length).split(', ').slice(0, 2).sort()).toEqual([
    'apple',
    'apricot',
  ]);
  typing.type('app');
  expect(await typing.line(/^app: /)).toMatch(/^app: apple\b/);
  typing.type('xyzzy');
  await typing.line(/^xyzzy: nothing$/);
  typing.end();
  expect(await typing.exit()).toEqual(EXIT.done);
}

async function supersedes(context: SceneContext): Promise<void> {
  const first = typeAhead(context, importOf(context));
  first.end();
  expect(await first.exit()).toEqual(EXIT.done);
  const typing = typeAhead(context, ['--debounce-ms', String(LONG_DEBOUNCE_MS)]);
  typing.type('b', 'ba', 'ban');
  typing.end();
  expect(await typing.exit()).toEqual(EXIT.done);
  expect(typing.lines).toEqual([expect.stringMatching(/^ban: banana\b/)]);
}

async function missingDictionary(context: SceneContext): Promise<void> {
  const typing = typeAhead(context);
  typing.type('a');
  typing.end();
  expect(await typing.exit()).toEqual(EXIT.failed);
  await typing.line(/^failed: /);
}

async function serverKilled(context: SceneContext): Promise<void> {
  const { stage } = context;
  const first = await stage.extraServer();
  const typing = typeAhead(context, importOf(context), `${first.listen},${stage.addresses}`);
  typing.type('a');
  await typing.line(/^a: /);
  await first.kill();
  typing.type('ban');
  expect(await typing.line(/^ban: /)).toMatch(/^ban: banana\b/);
  typing.end();
  expect(await typing.exit()).toEqual(EXIT.done);
}

export const TYPE_AHEAD_SCENES: readonly Scene[] = [
  { title: 'type-ahead: imports a file, and answers each typed text', run: answers },
  { title: 'type-ahead: answers only the newest text of fast typing', run: supersedes },
  { title: 'type-ahead: fails if there is no dictionary', run: missingDictionary },
  { title: 'type-ahead: answers at the next server when its server is killed', run: serverKilled },
];
