import type { FoldedEntry } from '../../engine/autocomplete/dictionary-store';
import type { RawArgument } from '../connection/operation';

/** A change as arguments of the script, with their approximate size in bytes. */
export interface ChangeArguments {
  readonly id: string;
  readonly args: readonly RawArgument[];
  readonly bytes: number;
}

export function deletion(entryId: string): ChangeArguments {
  return { id: entryId, args: ['delete', entryId, '', '', '', '', ''], bytes: entryId.length };
}

export function put({ entryId, text, folded, weight, payload, aliases }: FoldedEntry): ChangeArguments {
  // A text that equals its folded form is stored once.
  const shown = folded.startsWith(`\u0002${text}\u0003`) ? '' : text;
  const aliasText = aliases.length === 0 ? '' : JSON.stringify(aliases);
  const bytes = 3 * (entryId.length + shown.length + folded.length + aliasText.length) + payload.length;
  const value = payload.length === 0 ? '' : payload;
  return { id: entryId, args: ['put', entryId, shown, folded, weight, value, aliasText], bytes };
}
