import type { Autocomplete } from '../../src/autocomplete/autocomplete';
import type { ListedEntry, Suggestion, SuggestPage, SuggestRequest } from '../../src/autocomplete/suggestion';
import { NOW } from './dictionary-fixture';
import type { Expected } from './dictionary-model';

/** More pages than every answer has. Longer paging is a defect. */
const MOST_PAGES = 100_000;

/** The engine that answers a page, by the number of the page from 0. */
export type EngineOfPage = (page: number) => Autocomplete;

export type Asked = Partial<SuggestRequest> & Pick<SuggestRequest, 'dictionary' | 'query'>;

/** One page, the first page by default. */
export function pageOf(engine: Autocomplete, asked: Asked): Promise<SuggestPage> {
  const request = { kinds: [], pageSize: 10, pageToken: '', recentsList: '', asked: NOW, ...asked };
  return engine.suggest(request);
}

/** All matches of all pages. `between` runs after each page except the last page. */
export async function allPages(
  engineOf: EngineOfPage,
  asked: Asked,
  between: () => Promise<void> = () => Promise.resolve(),
): Promise<Suggestion[]> {
  const found: Suggestion[] = [];
  let pageToken = '';
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const page = await pageOf(engineOf(pages), { ...asked, pageToken });
    if (page.suggestions.length > (asked.pageSize ?? 10)) throw new Error('the page is too large');
    found.push(...page.suggestions);
    if (page.nextPageToken === '') return found;
    pageToken = page.nextPageToken;
    await between();
  }
  throw new Error('the pages do not end');
}

export async function allListed(
  engineOf: EngineOfPage,
  asked: { dictionary: string; from?: string; to?: string; pageSize?: number },
  between: () => Promise<void> = () => Promise.resolve(),
): Promise<ListedEntry[]> {
  const found: ListedEntry[] = [];
  let pageToken = '';
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const page = await engineOf(pages).listEntries({
      from: '',
      to: '',
      pageSize: 50,
      asked: NOW,
      ...asked,
      pageToken,
    });
    if (page.entries.length > (asked.pageSize ?? 50)) throw new Error('the page is too large');
    found.push(...page.entries);
    if (page.nextPageToken === '') return found;
    pageToken = page.nextPageToken;
    await between();
  }
  throw new Error('the pages do not end');
}

/** The fields of a suggestion that the model also has. */
export function asExpected({ kind, entryId, text, recent, score }: Suggestion): Expected {
  return { kind, entryId, text, recent, score: recent ? undefined : score };
}
