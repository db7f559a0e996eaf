import type { Suggestion } from '../../../clients/typescript';
import type { Column } from '../table';

export const SUGGESTION_COLUMNS: readonly Column<Suggestion>[] = [
  { title: 'TEXT', value: ({ text }) => text, mayShrink: true },
  { title: 'MATCH', value: ({ matchKind }) => matchKind.toLowerCase() },
  { title: 'SCORE', value: ({ score }) => String(score), isNumber: true },
  { title: 'RECENT', value: ({ isRecent }) => (isRecent ? 'yes' : '') },
  { title: 'ID', value: ({ id }) => id, mayShrink: true },
];

/** The JSON form of the message Suggestion: fields with their default are left out. */
export function suggestionToJson(suggestion: Suggestion): Record<string, unknown> {
  const { id, text, segments, payload, matchKind, score, isRecent } = suggestion;
  return {
    ...(id && { entryId: id }),
    text,
    segments: segments.map((one) => ({ text: one.text, ...(one.matched && { matched: true }) })),
    ...(payload.length > 0 && { payload: Buffer.from(payload).toString('base64') }),
    matchKind: `MATCH_KIND_${matchKind}`,
    ...(score !== 0 && { score: String(score) }),
    ...(isRecent && { recent: true }),
  };
}
