import { StoreFailure } from '../../src/base/errors';
import type { Quarantine } from '../../src/base/store-state';
import { endQuarantines } from '../../src/redis/topology/cluster-health';
import { failureOf } from '../support/reply-kinds';

const node = (end: () => Promise<Quarantine | undefined>) => ({ reachable: true, endQuarantine: end });
const ended = (remainingMs: number) =>
  node(() => Promise.resolve({ remainingMs, cause: 'restarted' as const }));
const failing = (carriedOut: 'no' | 'unknown', kind: StoreFailure['kind']) =>
  node(() => Promise.reject(new StoreFailure(carriedOut, kind)));

describe('the end of the quarantines of all nodes', () => {
  it('returns the longest quarantine', async () => {
    expect(await endQuarantines([ended(5), ended(9), node(() => Promise.resolve(undefined))])).toEqual({
      remainingMs: 9,
      cause: 'restarted',
    });
  });

  it('is unconfirmed if all nodes have made the change, and replicas have not confirmed it', async () => {
    const ending = endQuarantines([ended(5), failing('unknown', 'unconfirmed')]);
    expect(await failureOf(ending)).toMatchObject({ carriedOut: 'unknown', kind: 'unconfirmed' });
  });

  it('is unknown if a node has not answered, even if another node has done nothing', async () => {
    const nodes = [failing('unknown', 'unconfirmed'), failing('no', 'unavailable')];
    expect(await failureOf(endQuarantines(nodes))).toMatchObject({
      carriedOut: 'unknown',
      kind: 'unavailable',
    });
  });
});
