import type {
  ListPosition,
  RankedEntry,
  RankPosition,
  StoredProfile,
  StoredView,
} from '../../engine/autocomplete/dictionary-store';
import { MATCH_KINDS, type ListedEntry, type MatchKind } from '../../engine/autocomplete/suggestion';
import type { RawReply } from '../connection/script-command';

/** Encodes arguments and decodes replies of the dictionary scripts. Replies are bytes, because payloads are bytes. */

const LETTERS: Readonly<Record<MatchKind, string>> = {
  exact: 'e',
  prefix: 'p',
  'word-prefix': 'w',
  suffix: 's',
  contains: 'c',
  typo: 't',
};
const KINDS = new Map(MATCH_KINDS.map((kind) => [LETTERS[kind], kind]));

export function kindLetters(kinds: readonly MatchKind[]): string {
  return (kinds.length === 0 ? MATCH_KINDS : kinds).map((kind) => LETTERS[kind]).join('');
}

export function profileText({ accents, typos, foldVersion }: StoredProfile): string {
  return `${accents === 'kept' ? 'k' : 'd'}${typos ? 't' : '-'}${foldVersion}`;
}

export function readProfile(reply: RawReply | undefined): StoredProfile {
  const text = textOf(reply);
  return {
    accents: text.startsWith('k') ? 'kept' : 'dropped',
    typos: text[1] === 't',
    foldVersion: Number(text.slice(2)),
  };
}

/** The four arguments of a script for a position. */
export function positionArgs(after: RankPosition | undefined): string[] {
  if (after === undefined) return ['', '', '', ''];
  const { kind, at } = after;
  if (at === 'first') return [LETTERS[kind], '+', '', ''];
  if ('record' in at) return [LETTERS[kind], '=', at.record, at.past];
  return [LETTERS[kind], String(at.score), at.text, at.entryId];
}

export function readPosition(reply: RawReply | undefined): RankPosition | undefined {
  const [letter, score, text, entryId] = listOf(reply);
  if (letter === undefined) return undefined;
  const kind = readKind(letter);
  if (textOf(score) === '=') return { kind, at: { record: textOf(text), past: textOf(entryId) } };
  return { kind, at: { score: Number(textOf(score)), text: textOf(text), entryId: textOf(entryId) } };
}

export function readRankedEntry(reply: RawReply): RankedEntry {
  const [kind, score, entryId, text, payload] = listOf(reply);
  return {
    kind: readKind(kind),
    score: Number(textOf(score)),
    entryId: textOf(entryId),
    text: textOf(text),
    payload: payload as Buffer,
  };
}

export function readListPosition(reply: RawReply | undefined): ListPosition | undefined {
  const [text, number] = listOf(reply);
  return text === undefined ? undefined : { text: textOf(text), number: Number(textOf(number)) };
}

export function readListedEntry(reply: RawReply): ListedEntry {
  const [entryId, text, aliases, weight, selectionCount, payload] = listOf(reply);
  return {
    entryId: textOf(entryId),
    text: textOf(text),
    aliases: JSON.parse(textOf(aliases)) as string[],
    weight: Number(textOf(weight)),
    selectionCount: Number(textOf(selectionCount)),
    payload: payload as Buffer,
  };
}

export function readView([, profile, generation, count, bytes, imports]: readonly RawReply[]): StoredView {
  return {
    kind: 'ok',
    profile: readProfile(profile),
    generation: Number(textOf(generation)),
    entryCount: Number(textOf(count)),
    memoryBytes: Number(textOf(bytes)),
    imports: listOf(imports).map((fields) => {
      const [started, received] = listOf(fields);
      return { startTimeMs: Number(textOf(started)) / 1000, receivedCount: Number(textOf(received)) };
    }),
  };
}

export function textOf(reply: RawReply | undefined): string {
  return Buffer.isBuffer(reply) ? reply.toString() : String(reply ?? '');
}

export function listOf(reply: RawReply | undefined): readonly RawReply[] {
  return reply as readonly RawReply[];
}

function readKind(reply: RawReply | undefined): MatchKind {
  const kind = KINDS.get(textOf(reply));
  if (kind === undefined) throw new Error(`the script answered an unknown kind of match: ${textOf(reply)}`);
  return kind;
}
