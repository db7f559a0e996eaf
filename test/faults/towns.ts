import type { ListedEntry } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import type { EntryFields } from '../support/clients/autocomplete-client';
import { eventuallyPasses } from '../support/eventually';
import type { DictionaryClient } from './dictionary-client';

/** An entry with its version in every field. */
export function town(index: number, version: string): EntryFields {
  return {
    entryId: `town ${index}`,
    text: `${version} town ${index}`,
    aliases: [`${index} as ${version} has it`],
    weight: BigInt(index),
    payload: Buffer.from(version),
  };
}

export function towns(count: number, version: string): EntryFields[] {
  return Array.from({ length: count }, (_, index) => town(index, version));
}

/** The content of each entry id, as comparable text. */
export function contentOf(entries: readonly (ListedEntry | EntryFields)[]): Map<string, string> {
  const all = entries.map((one) => ('entryId' in one ? one : present(one.entry)));
  const shown = all.map(
    ({ entryId, text, aliases = [], weight = 0n, payload = new Uint8Array() }) =>
      [entryId, JSON.stringify([text, aliases, String(weight), Buffer.from(payload).toString()])] as const,
  );
  return new Map(shown.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Expects exactly these entries, and that `query`, which only their version matches, finds them. */
export async function expectContent(
  client: DictionaryClient,
  dictionary: string,
  entries: readonly EntryFields[],
  query: string,
): Promise<void> {
  expect(contentOf(await client.list(dictionary))).toEqual(contentOf(entries));
  const { suggestions } = await client.suggest(dictionary, query, 5);
  const best = [...entries].sort((one, other) => Number((other.weight ?? 0n) - (one.weight ?? 0n)));
  expect(suggestions.map(({ entryId }) => entryId)).toEqual(best.slice(0, 5).map(({ entryId }) => entryId));
}

/** As `expectContent`, after an import at another server. This server may answer from the old generation meanwhile. */
export function expectContentSoon(...expected: Parameters<typeof expectContent>): Promise<void> {
  return eventuallyPasses('the new generation at another server', () => expectContent(...expected), {
    timeoutMs: 60_000,
  });
}

function present(entry: ListedEntry['entry']): EntryFields {
  if (entry === undefined) throw new Error('the listed entry has no entry');
  return entry;
}
