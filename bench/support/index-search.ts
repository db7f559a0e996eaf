import { EntryCollector } from '../../src/engine/autocomplete/index/entry-collector';
import { buildLayer } from '../../src/engine/autocomplete/index/layer-builder';
import { openLayer, ownMemory } from '../../src/engine/autocomplete/index/layer-memory';
import { NONE_DEAD } from '../../src/engine/autocomplete/index/dead-set';
import { queryOf } from '../../src/engine/autocomplete/index/query';
import type { View } from '../../src/engine/autocomplete/index/view';
import { suggest } from '../../src/engine/autocomplete/index/view-suggest';
import { Work } from '../../src/engine/autocomplete/index/work';
import { wantedKinds } from '../../src/engine/autocomplete/match';
import { packRecord } from '../../src/engine/autocomplete/stored-record';
import type { MatchKind } from '../../src/engine/autocomplete/suggestion';
import type { Item } from '../words/corpus';

const PAGE = 10;
const NO_PAYLOAD = Buffer.alloc(0);

/** The product's index in this process: a search without gRPC, without Redis and without the parts of an answer. */
export class IndexSearch {
  private readonly view: View;

  constructor(items: Iterable<Item>) {
    const collector = new EntryCollector('kept');
    for (const { id, text, weight } of items) {
      collector.put(Buffer.from(id), packRecord({ text, aliases: [], weight, payload: NO_PAYLOAD }));
    }
    const layer = openLayer(buildLayer(collector, { allocate: ownMemory }));
    this.view = { layers: [{ layer, dead: NONE_DEAD }] };
  }

  /** The time of the search for the first page of this query (ms). The query is folded. */
  timeOf(query: string, kinds: readonly MatchKind[]): number {
    const startedAt = performance.now();
    const found = suggest(this.view, queryOf(query, wantedKinds(kinds, true)), PAGE, undefined, new Work());
    if (found.kind !== 'found') throw new Error('a search without a bound has stopped');
    return performance.now() - startedAt;
  }
}
