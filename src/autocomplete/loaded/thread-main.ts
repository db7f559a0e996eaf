import { workerData } from 'node:worker_threads';
import { answerTasks, setThreadPriority } from '../../base/thread';
import { openLayer } from '../index/layer/layer-memory';
import type { View } from '../index/layer/view';
import { list } from '../index/search/list';
import { queryOf } from '../index/search/query';
import { suggest } from '../index/search/view-suggest';
import { Work } from '../index/work';
import { buildAnswers, Builds } from './thread-builds';
import type { LivingLayer, ThreadCalls, ThreadSettings } from './thread-calls';

/** Searches without a bound of work. */

function searchSuggestions({
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

function searchListing({
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

/** The start of an index thread. */

const { nice, dutyCycle } = workerData as ThreadSettings;
setThreadPriority(nice);

answerTasks<ThreadCalls>({
  ...buildAnswers(new Builds(dutyCycle)),
  suggest: searchSuggestions,
  list: searchListing,
});
