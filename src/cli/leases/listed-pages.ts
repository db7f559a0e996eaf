import type { Holdfast } from '../../../clients/typescript';
import type { Terminal } from '../terminal';
import type { ListQuery, Resource, ResourceKind } from './resource-kind';

const PAGE_SIZE = 500;

/** The rows of a list, one page after the other, until Ctrl-C. */
export async function* listedPages<T extends Resource>(
  kind: ResourceKind<T>,
  hf: Holdfast,
  query: Omit<ListQuery, 'pageSize' | 'pageToken'>,
  terminal: Terminal,
): AsyncGenerator<readonly T[], void, undefined> {
  let pageToken = '';
  do {
    const page = await kind.list(hf, { ...query, pageSize: PAGE_SIZE, pageToken });
    if (page.sampled)
      terminal.err.write('holdfast: not all names were counted; give a prefix for an exact order\n');
    yield page.rows;
    pageToken = page.nextPageToken;
  } while (pageToken !== '' && !terminal.interrupted.aborted);
}
