import { nodeReportOf, type Topology } from '../../src/redis/connection/node-report';

const RUN = 'f'.repeat(40);
const NONE = '0'.repeat(40);
const HISTORY = '0123456789abcdef0123456789abcdef01234567';
const INFO = {
  run_id: RUN,
  redis_version: '7.0.15',
  role: 'master',
  connected_slaves: '1',
  master_replid: HISTORY,
  master_replid2: NONE,
  uptime_in_seconds: '9',
};
/** As Holdfast asks for. */
const SETTINGS = {
  appendonly: 'yes',
  appendfsync: 'always',
  'no-appendfsync-on-rewrite': 'no',
  'maxmemory-policy': 'noeviction',
  'min-replicas-to-write': '1',
  'min-replicas-max-lag': '10',
  'cluster-require-full-coverage': 'no',
  'cluster-node-timeout': '5000',
  'repl-backlog-ttl': '3600',
};
const QUARANTINE_MS = 135_000;

type Changes<T> = Partial<Record<keyof T, string>>;
const of = (topology?: Topology, info: Changes<typeof INFO> = {}, settings: Changes<typeof SETTINGS> = {}) =>
  nodeReportOf(
    {
      info: new Map(Object.entries({ ...INFO, ...info })),
      settings: new Map(Object.entries({ ...SETTINGS, ...settings })),
    },
    topology,
    QUARANTINE_MS,
  );
const ALONE = { connected_slaves: '0' };

describe('what is found in a Redis', () => {
  it('is nothing to warn of where it is set up as asked for', () => {
    expect(of(undefined, ALONE)).toMatchObject({ runId: RUN, durable: true, overlapMs: 0, warnings: [] });
    expect(of('sentinel')).toMatchObject({ runId: RUN, durable: false, warnings: [], unsuitable: false });
    expect(of('cluster')).toMatchObject({ warnings: [], unsuitable: false });
  });

  it('is another run where it took over, or is a replica; not where its first replica has come', () => {
    const stint = `${RUN}/${HISTORY.slice(0, 16)}`;
    expect(of('sentinel', { master_replid2: 'a'.repeat(40) }).runId).toBe(stint);
    expect(of('sentinel', { role: 'slave' }).runId).toBe(stint);
    expect(of('sentinel', { master_replid: 'b'.repeat(40) }).runId).toBe(RUN);
  });

  it.each([
    ['Sentinel: silent replicas', 'sentinel', {}, {}, 12_000],
    ['Sentinel, a shorter lag', 'sentinel', {}, { 'min-replicas-max-lag': '2' }, 4000],
    ['Sentinel, no bound', 'sentinel', {}, { 'min-replicas-to-write': '0' }, 12_000],
    ['a Cluster: whichever comes first', 'cluster', {}, {}, 7000],
    ['an address that moves: it took over', undefined, { master_replid2: HISTORY }, {}, 12_000],
    ['one Redis', undefined, {}, {}, 0],
  ] as const)('says how long another master may go on granting: %s', (_, topology, info, settings, ms) => {
    expect(of(topology, info, settings).overlapMs).toBe(ms);
  });

  it.each([
    ['maxmemory-policy', 'allkeys-lru', undefined, true],
    ['appendonly', 'no', undefined, false],
    ['appendfsync', 'everysec', undefined, false],
    ['no-appendfsync-on-rewrite', 'yes', undefined, false],
    ['min-replicas-to-write', '0', 'sentinel', true],
    ['min-replicas-to-write', '0', 'cluster', false],
    ['min-replicas-max-lag', '11', 'sentinel', true],
    ['min-replicas-max-lag', '0', 'cluster', false],
    ['cluster-node-timeout', '15000', 'cluster', false],
    ['cluster-require-full-coverage', 'yes', 'cluster', false],
    ['repl-backlog-ttl', '60', 'sentinel', false],
  ] as const)('names what is dangerous: %s %s (%s)', (setting, value, topology, unsuitable) => {
    const found = of(topology, topology ? {} : ALONE, { [setting]: value });
    expect(found.warnings.join()).toContain(setting);
    expect(found.unsuitable).toBe(unsuitable);
    expect(found.durable).toBe(topology === undefined && setting === 'maxmemory-policy');
  });

  it.each([
    ['a replica', { role: 'slave' }],
    ['too old', { redis_version: '6.2.14' }],
    ['a node of a Cluster', { cluster_enabled: '1' }],
  ])('is no store: %s', (_, info) => {
    expect(of(undefined, { ...ALONE, ...info }).unsuitable).toBe(true);
  });

  it('says that there are more replicas than must be heard', () => {
    expect(of('sentinel', { connected_slaves: '2' }).warnings.join()).toContain('min-replicas-to-write');
    expect(of('sentinel', { connected_slaves: '2' }, { 'min-replicas-to-write': '2' }).warnings).toEqual([]);
  });

  it('counts what may not be read as unsafe', () => {
    const { durable, warnings } = nodeReportOf({
      info: new Map(Object.entries({ ...INFO, aof_enabled: '1' })),
      settings: undefined,
    });
    expect(durable).toBe(false);
    expect(warnings.join()).toContain('not readable');
    expect(nodeReportOf({ info: new Map(), settings: undefined })).toMatchObject({ unsuitable: true });
  });
});
