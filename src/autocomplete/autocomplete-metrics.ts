import type { MetricDefinition } from '../base/meters';

/** What the metrics of autocomplete are read from. */
export interface AutocompleteSource {
  readonly engine: { readonly suggestedCounts: Readonly<Record<string, number>> };
  readonly indexes: { readonly usedBytes: number; readonly budgetBytes: number; readonly count: number };
  /** The failed queries of SuggestStream by reason, which the status of the stream does not show. */
  readonly failures: { all(): Iterable<readonly [string, number]> };
}

export const autocompleteMetrics: readonly MetricDefinition<AutocompleteSource>[] = [
  {
    name: 'holdfast_query_failures_total',
    type: 'counter',
    unit: 'count',
    labels: {
      grpc_method: '`SuggestStream`',
      reason: 'name of the reason, such as `OVERLOADED`: [errors.md](../errors.md) has all reasons',
    },
    help: 'Queries of SuggestStream that have failed, by reason. The stream continues after a failed query.',
    rising:
      'With `OVERLOADED` or `QUOTA_EXCEEDED`: overload or quotas. With `DICTIONARY_LOADING`: dictionaries are loaded, or have too little memory. With `STORE_UNAVAILABLE`: Redis does not answer. With `NO_SUCH_DICTIONARY` or `NOT_ALLOWED`: wrong names or refused callers.',
    *read({ failures }) {
      for (const [reason, value] of failures.all())
        yield { labels: { grpc_method: 'SuggestStream', reason }, value };
    },
  },
  {
    name: 'holdfast_suggestions_total',
    type: 'counter',
    unit: 'count',
    labels: { kind: '`exact`, `prefix`, `word-prefix`, `suffix`, `contains`, `typo`' },
    help: 'Suggestions in answers, by the kind of match.',
    rising: 'More queries. Many of kind `typo`: the dictionary lacks what users type.',
    read: ({ engine }) =>
      Object.entries(engine.suggestedCounts).map(([kind, value]) => ({ labels: { kind }, value })),
  },
  {
    name: 'holdfast_dictionary_memory_bytes',
    type: 'gauge',
    unit: 'bytes',
    labels: {},
    help: 'Memory of the indexes of dictionaries, and of their builds.',
    rising: 'Near the limit, dictionaries make room for others and are loaded again.',
    read: ({ indexes }) => [{ value: indexes.usedBytes }],
  },
  {
    name: 'holdfast_dictionary_memory_limit_bytes',
    type: 'gauge',
    unit: 'bytes',
    labels: {},
    help: 'HOLDFAST_DICTIONARY_MEMORY.',
    rising: 'Changes only with the setting.',
    read: ({ indexes }) => [{ value: indexes.budgetBytes }],
  },
  {
    name: 'holdfast_dictionaries_loaded',
    type: 'gauge',
    unit: 'count',
    labels: {},
    help: 'Dictionaries in memory, or on their way there.',
    rising: 'More dictionaries are in use.',
    read: ({ indexes }) => [{ value: indexes.count }],
  },
];
