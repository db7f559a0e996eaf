import type { Entry } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import type { Item } from '../words/corpus';

const NO_PAYLOAD = Buffer.alloc(0);

export function entryOf({ id, text, weight }: Item, moreWeight = 0): Entry {
  const all = BigInt(weight + moreWeight);
  return { entryId: id, text, aliases: [], weight: all, payload: NO_PAYLOAD };
}

export function* entriesOf(items: Iterable<Item>, moreWeight = 0): Generator<Entry> {
  for (const item of items) yield entryOf(item, moreWeight);
}
