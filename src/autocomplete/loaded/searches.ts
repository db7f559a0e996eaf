import { openLayer } from '../index/layer/layer-memory';
import { queryOf } from '../index/search/query';
import type { View } from '../index/layer/view';
import { list } from '../index/search/view-list';
import { suggest } from '../index/search/view-suggest';
import { Work } from '../index/work';
import type { LivingLayer, ThreadCalls } from './thread-calls';

/** Searches without a bound of work. */

export function searchSuggestions({
  layers,
  folded,
  wanted,
  limit,
  after,
}: ThreadCalls['suggest']['takes']): ThreadCalls['suggest']['answers'] {
  const found = suggest(viewOf(layers), queryOf(folded, new Set(wanted)), limit, after, new Work());
  if (found.kind === 'stopped') throw new Error('a search without a bound has stopped');
  return found;
}

export function searchListing({
  layers,
  from,
  to,
  limit,
  after,
}: ThreadCalls['list']['takes']): ThreadCalls['list']['answers'] {
  const found = list(viewOf(layers), from, to, limit, after, new Work());
  if (found.kind === 'stopped') throw new Error('a search without a bound has stopped');
  return found;
}

function viewOf(layers: readonly LivingLayer[]): View {
  return { layers: layers.map(({ memory, dead }) => ({ layer: openLayer(memory), dead })) };
}
