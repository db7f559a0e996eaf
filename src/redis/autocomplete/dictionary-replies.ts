import type {
  DictionaryStore,
  Listing,
  ListPosition,
  LostImport,
  OtherProfile,
  RankedEntry,
  Ranking,
  RankPosition,
  StoredProfile,
  StoredView,
  UnknownDictionary,
} from '../../engine/autocomplete/dictionary-store';
import { MATCH_KINDS, type ListedEntry, type MatchKind } from '../../engine/autocomplete/suggestion';
import type { RawReply } from '../connection/script-command';

/**
 * Encodes arguments and decodes replies of the dictionary scripts. The header comment of each script describes its
 * reply. Replies are bytes, because payloads are bytes.
 */

export const UNKNOWN: UnknownDictionary = { kind: 'unknown' };
export const LOST: LostImport = { kind: 'lost' };

export type SweepOutcome = Awaited<ReturnType<DictionaryStore['sweep']>>;

/** The reply to some changes. The script may have started only the first changes. */
export interface WriteStep {
  readonly kind: 'ok';
  /** The result of each started change. */
  readonly results: readonly number[];
  /** True: all started changes are finished. */
  readonly isFinished: boolean;
}

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

/** The four arguments of a script for a position. */
export function positionArgs(after: RankPosition | undefined): string[] {
  if (after === undefined) return ['', '', '', ''];
  const { kind, at } = after;
  if (at === 'first') return [LETTERS[kind], '+', '', ''];
  if ('record' in at) return [LETTERS[kind], '=', at.record, at.past];
  return [LETTERS[kind], String(at.score), at.text, at.entryId];
}

export function readCreate([word, known]: readonly RawReply[]): { readonly kind: 'ok' } | OtherProfile {
  return textOf(word) === 'EXISTS' ? otherProfile(known) : { kind: 'ok' };
}

export function readInspect(reply: readonly RawReply[]): StoredView | UnknownDictionary {
  if (isUnknown(reply)) return UNKNOWN;
  const [, profile, generation, count, bytes, imports] = reply;
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

export function readWrite([word, second, finished, results]: readonly RawReply[]):
  WriteStep | UnknownDictionary | LostImport | OtherProfile {
  switch (textOf(word)) {
    case 'UNKNOWN':
      return UNKNOWN;
    case 'LOST':
      return LOST;
    case 'PROFILE':
      return otherProfile(second);
  }
  const numbers = listOf(results).map((result) => Number(textOf(result)));
  return { kind: 'ok', results: numbers, isFinished: textOf(finished) === '1' };
}

export function readStartImport([word, known]: readonly RawReply[]):
  { readonly kind: 'ok'; readonly profile: StoredProfile } | OtherProfile | { readonly kind: 'busy' } {
  if (textOf(word) === 'EXISTS') return otherProfile(known);
  if (textOf(word) === 'BUSY') return { kind: 'busy' };
  return { kind: 'ok', profile: readProfile(known) };
}

/** `again`: entries are still being indexed, and the server repeats the script. */
export function readCommit([word]: readonly RawReply[]): { readonly kind: 'ok' } | LostImport | 'again' {
  if (textOf(word) === 'AGAIN') return 'again';
  return textOf(word) === 'LOST' ? LOST : { kind: 'ok' };
}

/** False: the dictionary did not exist. */
export function readDrop(reply: readonly RawReply[]): boolean {
  return !isUnknown(reply);
}

export function readSweep([word]: readonly RawReply[]): SweepOutcome {
  return textOf(word).toLowerCase() as SweepOutcome;
}

export function readSuggest(
  reply: readonly RawReply[],
): ({ readonly kind: 'ok' } & Ranking) | UnknownDictionary {
  if (isUnknown(reply)) return UNKNOWN;
  const [, profile, partial, next, entries] = reply;
  return {
    kind: 'ok',
    profile: readProfile(profile),
    partial: textOf(partial) === '1',
    next: readPosition(next),
    entries: listOf(entries).map(readRankedEntry),
  };
}

export function readList(
  reply: readonly RawReply[],
): ({ readonly kind: 'ok' } & Listing) | UnknownDictionary {
  if (isUnknown(reply)) return UNKNOWN;
  const [, next, entries] = reply;
  return { kind: 'ok', next: readListPosition(next), entries: listOf(entries).map(readListedEntry) };
}

export function readNames(names: readonly RawReply[]): string[] {
  return names.map(textOf);
}

function isUnknown([word]: readonly RawReply[]): boolean {
  return textOf(word) === 'UNKNOWN';
}

function otherProfile(reply: RawReply | undefined): OtherProfile {
  return { kind: 'other-profile', profile: readProfile(reply) };
}

function readProfile(reply: RawReply | undefined): StoredProfile {
  const text = textOf(reply);
  return {
    accents: text.startsWith('k') ? 'kept' : 'dropped',
    typos: text[1] === 't',
    foldVersion: Number(text.slice(2)),
  };
}

function readPosition(reply: RawReply | undefined): RankPosition | undefined {
  const [letter, score, text, entryId] = listOf(reply);
  if (letter === undefined) return undefined;
  const kind = readKind(letter);
  if (textOf(score) === '=') return { kind, at: { record: textOf(text), past: textOf(entryId) } };
  return { kind, at: { score: Number(textOf(score)), text: textOf(text), entryId: textOf(entryId) } };
}

function readRankedEntry(reply: RawReply): RankedEntry {
  const [kind, score, entryId, text, payload] = listOf(reply);
  return {
    kind: readKind(kind),
    score: Number(textOf(score)),
    entryId: textOf(entryId),
    text: textOf(text),
    payload: payload as Buffer,
  };
}

function readListPosition(reply: RawReply | undefined): ListPosition | undefined {
  const [text, number] = listOf(reply);
  return text === undefined ? undefined : { text: textOf(text), number: Number(textOf(number)) };
}

function readListedEntry(reply: RawReply): ListedEntry {
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

function textOf(reply: RawReply | undefined): string {
  return Buffer.isBuffer(reply) ? reply.toString() : String(reply ?? '');
}

function listOf(reply: RawReply | undefined): readonly RawReply[] {
  return reply as readonly RawReply[];
}

function readKind(reply: RawReply | undefined): MatchKind {
  const kind = KINDS.get(textOf(reply));
  if (kind === undefined) throw new Error(`the script answered an unknown kind of match: ${textOf(reply)}`);
  return kind;
}
