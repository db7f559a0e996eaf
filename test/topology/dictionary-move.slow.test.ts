import { systemClock } from '../../src/base/clock';
import { StoreFailure } from '../../src/base/errors';
import type { RedisEntryStore } from '../../src/autocomplete/redis/redis-entry-store';
import { slotOfKey } from '../../src/redis/buckets';
import { entriesKey } from '../../src/autocomplete/redis/entry-keys';
import { RedisCluster } from '../../src/redis/topology/cluster';
import { hostOf } from '../../src/redis/topology/cluster-watch';
import {
  loadedContent,
  PREFIX,
  PROFILE,
  stored,
  storedMany,
  storeOf,
} from '../support/autocomplete/entries-fixture';
import { EntriesChecker } from '../support/autocomplete/entries-checker';
import { RedisClusterProcesses } from '../support/processes/redis-cluster';

/** A write during a move waits for this time. */
const SHORT_TIMEOUT_MS = 150;
const LONG_TIMEOUT_MS = 30_000;
/** The kinds of keys of a dictionary (autocomplete/scripts/shared/dictionary.lua). */
const KINDS = ['meta', 'state', 'e', 'feed', 'done', 'stage'] as const;
type Kind = (typeof KINDS)[number];

function open({ nodes }: RedisClusterProcesses, commandTimeoutMs: number): RedisCluster {
  return new RedisCluster({
    address: {
      kind: 'cluster',
      seeds: nodes.map(({ address }) => hostOf(address)),
      tls: false,
      username: undefined,
      password: undefined,
    },
    security: { tls: undefined, sentinelUser: undefined },
    prefix: PREFIX,
    quarantineMs: 5000,
    storeIsNew: true,
    hasLeases: false,
    commandTimeoutMs,
    clock: systemClock,
    onError: () => undefined,
  });
}

const kindOf = (key: string) => key.slice(key.indexOf(':d:') + 3).split(':')[0];

/** Chooses a key of this kind as early or as late as possible. */
const order = (kind: Kind, place: 'first' | 'last') => (keys: readonly string[]) => {
  const isWanted = (key: string) => (kindOf(key) === kind) === (place === 'first');
  return String(keys.find(isWanted) ?? keys[0]);
};

/** Writes with their outcomes. */
class Outcomes {
  private count = 0;
  private readonly outcomes = new Map<string, 'yes' | 'no' | 'unknown'>();

  /** A put of so many entries, whose ids begin with the same text. */
  async put(store: RedisEntryStore, name: string, entryCount: number): Promise<void> {
    const beginning = `put ${++this.count},`;
    const entries = Array.from({ length: entryCount }, (_, i) => stored(`${beginning} ${i}`));
    const outcome = await store.put(name, entries).then(
      () => 'yes' as const,
      (error: unknown) => {
        if (!(error instanceof StoreFailure)) throw error;
        return error.carriedOut;
      },
    );
    this.outcomes.set(beginning, outcome);
  }

  get isAnyUnfinished(): boolean {
    return [...this.outcomes.values()].some((outcome) => outcome === 'no');
  }

  /** The puts that are in the content although they failed, or are not in the content although they were answered. */
  wrong(ids: readonly string[]): string[] {
    return [...this.outcomes].flatMap(([beginning, outcome]) => {
      const isThere = ids.some((id) => id.startsWith(beginning));
      return outcome === 'unknown' || (outcome === 'yes') === isThere ? [] : [`${beginning} ${outcome}`];
    });
  }
}

describe('a dictionary whose slot moves key by key', () => {
  let cluster: RedisClusterProcesses;
  let hasty: RedisCluster;
  let patient: RedisCluster;
  beforeAll(async () => {
    cluster = await RedisClusterProcesses.start({ masters: 2 });
    [hasty, patient] = [open(cluster, SHORT_TIMEOUT_MS), open(cluster, LONG_TIMEOUT_MS)];
    await Promise.all([hasty.ready(LONG_TIMEOUT_MS), patient.ready(LONG_TIMEOUT_MS)]);
  });
  afterAll(async () => {
    for (const one of [hasty, patient]) one?.close();
    await cluster?.close();
  });

  it.each(KINDS.flatMap((kind) => [[kind, 'first'] as const, [kind, 'last'] as const]))(
    '(%s %s) keeps each answered write, and no write that was refused',
    async (kind, place) => {
      const name = `${kind} ${place}`;
      const [quick, slow] = [storeOf(hasty), storeOf(patient)];
      await slow.create(name, PROFILE);
      await slow.put(name, storedMany(150));
      await slow.select(name, 'id 7', 3);
      const head = await slow.head(name);
      const key = entriesKey(PREFIX, name);
      const source = await cluster.masterOf(slotOfKey(key));
      const target = cluster.nodes.find((node) => node !== source)!;
      const outcomes = new Outcomes();
      const waiting: Promise<void>[] = [];
      await cluster.moveKeyByKey(slotOfKey(key), target, order(kind, place), async () => {
        if (waiting.length === 0) waiting.push(outcomes.put(slow, name, 1), outcomes.put(slow, name, 150));
        await Promise.all([outcomes.put(quick, name, 1), outcomes.put(quick, name, 150)]);
        expect(await slow.head(name)).toEqual(head);
      });
      expect(outcomes.isAnyUnfinished).toBe(true);
      await Promise.all(waiting);
      await outcomes.put(slow, name, 1);
      const content = await loadedContent(slow, name);
      expect(outcomes.wrong(Object.keys(content))).toEqual([]);
      for (const { entryId, record } of storedMany(150)) {
        expect(content[entryId]).toEqual([String(record), entryId === 'id 7' ? 3 : 0]);
      }
      while ((await slow.sweep(name)) === 'more');
      const checker = new EntriesChecker(target.redis.adminUrl, PREFIX);
      expect(await checker.check(name).finally(() => checker.close())).toEqual([]);
      expect(await source.redis.command('CLUSTER', 'COUNTKEYSINSLOT', slotOfKey(key))).toBe('0');
    },
  );
});
