import { characters } from './extremes/characters';
import { mainThread } from './extremes/main-thread';
import { manyDictionaries } from './extremes/many-dictionaries';
import { oneCore } from './extremes/one-core';
import type { Part } from './extremes/part';
import { steadyWrites } from './extremes/steady-writes';
import { swaps } from './extremes/swaps';
import { tenServers } from './extremes/ten-servers';
import type { Figure, Row, RowContext } from './row';

const PARTS: readonly Part[] = [
  tenServers,
  steadyWrites,
  swaps,
  oneCore,
  manyDictionaries,
  characters,
  mainThread,
];

export const PART_NAMES = PARTS.map(({ name }) => name).join(', ');

const SECONDS = 60;
const QUICK_SECONDS = 12;

let chosenParts = PARTS;
let chosenSeconds: number | undefined;

/** Chooses the parts. Returns false for an unknown name. */
export function chooseParts(names: readonly string[]): boolean {
  chosenParts = PARTS.filter(({ name }) => names.includes(name));
  return chosenParts.length === new Set(names).size;
}

/** Chooses the length of parts that run for a time. Returns false for a wrong number. */
export function chooseSeconds(seconds: number): boolean {
  chosenSeconds = seconds;
  return Number.isInteger(seconds) && seconds >= 1 && seconds <= 3600;
}

async function run(context: RowContext): Promise<Figure[]> {
  const seconds = chosenSeconds ?? (context.quick ? QUICK_SECONDS : SECONDS);
  const figures: Figure[] = [];
  for (const part of chosenParts) {
    context.say(part.name);
    figures.push(...(await part.run({ ...context, seconds })));
  }
  return figures;
}

export const extremes: Row = {
  name: 'dictionary-extremes',
  title: 'Dictionaries under unusual load',
  about:
    'Ten servers that load the same dictionary at once; 2,000 writes a second; imports over each other; a single core; many ' +
    'dictionaries in little memory; unusual characters; and the main thread of the server. CPU of threads is a part of ' +
    'one core. An idle event loop has a delay of 1 ms and a little, because the delay is sampled each millisecond.',
  onRequest: true,
  run,
};
