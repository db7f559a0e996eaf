import { seeded as fractions } from './random';

/** Returns a function for random integers from 0 to below its argument. The same seed gives the same numbers. */
export function seeded(seed: number): (below: number) => number {
  const random = fractions(seed);
  return (below) => Math.floor(random() * below);
}

const BEGINNINGS = [
  'an',
  'ber',
  'ca',
  'do',
  'el',
  'fri',
  'go',
  'hen',
  'is',
  'jo',
  'ka',
  'lu',
  'ma',
  'mar',
  'no',
];
const MIDDLES = ['na', 'ri', 'tho', 'le', 'mi', 'ra', 'sé', 'ti', 'vo', 'ne', 'ko', 'lla', 'ssi', 'dè', 'be'];
const ENDS = ['a', 'n', 'us', 'e', 'son', 'tt', 'ri', 'x', 'y', 'ler', 'mann', 'o', 'ez', 'ovà', 's'];

/** Names of people, with two or three words. The first syllables of each list are much more frequent. */
export function nameGenerator(random: (below: number) => number): () => string {
  const one = (list: readonly string[]) => list[Math.min(random(list.length), random(list.length))] ?? '';
  const word = () => {
    let text = one(BEGINNINGS);
    for (let left = random(3); left > 0; left -= 1) text += one(MIDDLES);
    text += one(ENDS);
    return text[0]?.toUpperCase() + text.slice(1);
  };
  return () => Array.from({ length: 2 + (random(5) === 0 ? 1 : 0) }, word).join(random(12) === 0 ? '-' : ' ');
}

/** The text with this number of random edits. The first character is never edited. */
export function withTypos(text: string, times: number, random: (below: number) => number): string {
  const characters = [...text];
  const other = () => String.fromCharCode(97 + random(26));
  for (let time = 0; time < times; time += 1) {
    const at = 1 + random(Math.max(1, characters.length - 1));
    const kind = random(4);
    if (kind === 0) characters.splice(at, 0, other());
    else if (kind === 1) characters.splice(at, 1);
    else if (kind === 2) characters.splice(at, 1, other());
    else characters.splice(at, 2, ...characters.slice(at, at + 2).reverse());
  }
  return characters.join('');
}
