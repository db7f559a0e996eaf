import type { Entry, Profile } from '../../../clients/typescript';

/**
 * The lines of an export, each a JSON object with one key that says the kind:
 *
 *     {"holdfastExport":{"version":1,"createTime":"…"}}
 *     {"semaphore":{"name":"gpu","limit":8}}
 *     {"semaphore":{"name":"cpu","limit":0,"keptLimit":4}}
 *     {"dictionary":{"name":"towns","profile":{…}}}
 *     {"entry":{"entryId":"3","text":"New York"}}
 *     {"dictionaryEnd":{"entryCount":1}}
 *     {"end":{"semaphoreCount":1,"dictionaryCount":1,"entryCount":1,"sha256":"…"}}
 *
 * A paused semaphore has a `keptLimit`. The checksum is of all lines before the last, with their line breaks.
 */
export const EXPORT_VERSION = 1;

export interface Counts {
  semaphoreCount: number;
  dictionaryCount: number;
  entryCount: number;
}

export const noCounts = (): Counts => ({ semaphoreCount: 0, dictionaryCount: 0, entryCount: 0 });

/** What an import does, in the order of the file. */
export type ExportPart =
  | {
      readonly kind: 'semaphore';
      readonly name: string;
      readonly limit: number;
      /** Of a paused semaphore, else 0. An older `holdfast` reads only `limit`, so the semaphore stays paused there. */
      readonly keptLimit: number;
    }
  | { readonly kind: 'dictionary'; readonly name: string; readonly profile: Profile }
  | { readonly kind: 'entry'; readonly line: number; readonly entry: Entry }
  | { readonly kind: 'dictionaryEnd' };

export function countsText({ semaphoreCount, dictionaryCount, entryCount }: Counts): string {
  const counted = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;
  const semaphores = counted(semaphoreCount, 'semaphore', 'semaphores');
  const dictionaries = counted(dictionaryCount, 'dictionary', 'dictionaries');
  return `${semaphores}, ${dictionaries} with ${counted(entryCount, 'entry', 'entries')}`;
}
