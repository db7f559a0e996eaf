import fc from 'fast-check';
import type { Topology } from '../../src/redis/node/node-answers';
import { nodeReportOf } from '../../src/redis/node/report';
import { ServerClock } from '../../src/redis/node/server-clock';
import { assertWithinTime } from '../support/timed-property';

const RUN = 'f'.repeat(40);
const NO_HISTORY = '0'.repeat(40);
const HISTORY = '0123456789abcdef0123456789abcdef01234567';
const INFO = {
  run_id: RUN,
  redis_version: '7.0.15',
  role: 'master',
  connected_slaves: '1',
  master_replid: HISTORY,
  master_replid2: NO_HISTORY,
  uptime_in_seconds: '9',
};
/** The settings that Holdfast requires. */
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
  'repl-backlog-size': '67108864',
  'client-output-buffer-limit': 'normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60',
};
const QUARANTINE_MS = 135_000;

type Changes<T> = Partial<Record<keyof T | 'used_memory' | 'maxmemory', string>>;
const reportOf = (
  topology?: Topology,
  info: Changes<typeof INFO> = {},
  settings: Changes<typeof SETTINGS> = {},
) =>
  nodeReportOf(
    {
      info: new Map(Object.entries({ ...INFO, ...info })),
      settings: new Map(Object.entries({ ...SETTINGS, ...settings })),
    },
    topology,
    QUARANTINE_MS,
  );
const ALONE = { connected_slaves: '0' };

describe('the report of a node', () => {
  it('warns of a store that is nearly full, and not of a store without a limit of memory', () => {
    const memory = (used_memory: string, maxmemory: string) =>
      reportOf(undefined, { ...ALONE, used_memory, maxmemory }).warnings;
    expect(memory('950', '1000')).toEqual([expect.stringContaining('more than 95 % of its maxmemory')]);
    expect(memory('949', '1000')).toEqual([]);
    expect(memory('950', '0')).toEqual([]);
  });

  it('has no warnings if Redis has the settings that Holdfast requires', () => {
    expect(reportOf(undefined, ALONE)).toMatchObject({
      runId: RUN,
      durable: true,
      overlapMs: 0,
      warnings: [],
    });
    expect(reportOf('sentinel')).toMatchObject({
      runId: RUN,
      durable: false,
      warnings: [],
      unsuitable: false,
    });
    expect(reportOf('cluster')).toMatchObject({ warnings: [], unsuitable: false });
  });

  it('names a new run for a master that took over and for a replica, but not for a master with its first replica', () => {
    const masterTerm = `${RUN}/${HISTORY.slice(0, 16)}`;
    expect(reportOf('sentinel', { master_replid2: 'a'.repeat(40) }).runId).toBe(masterTerm);
    expect(reportOf('sentinel', { role: 'slave' }).runId).toBe(masterTerm);
    expect(reportOf('sentinel', { master_replid: 'b'.repeat(40) }).runId).toBe(RUN);
  });

  it.each([
    ['Sentinel, until replicas are silent', 'sentinel', {}, {}, 12_000],
    ['Sentinel, a shorter lag', 'sentinel', {}, { 'min-replicas-max-lag': '2' }, 4000],
    ['Sentinel, no bound', 'sentinel', {}, { 'min-replicas-to-write': '0' }, 12_000],
    ['Cluster, the shorter of two bounds', 'cluster', {}, {}, 7000],
    ['a single address whose Redis took over', undefined, { master_replid2: HISTORY }, {}, 12_000],
    ['a single Redis', undefined, {}, {}, 0],
  ] as const)(
    'contains the time for which a replaced master may still grant: %s',
    (_, topology, info, settings, ms) => {
      expect(reportOf(topology, info, settings).overlapMs).toBe(ms);
    },
  );

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
  ] as const)(
    'contains a warning about the setting %s %s (topology: %s)',
    (setting, value, topology, unsuitable) => {
      const report = reportOf(topology, topology ? {} : ALONE, { [setting]: value });
      expect(report.warnings.join()).toContain(setting);
      expect(report.unsuitable).toBe(unsuitable);
      expect(report.durable).toBe(topology === undefined && setting === 'maxmemory-policy');
    },
  );

  it.each([
    ['a replica', { role: 'slave' }],
    ['a Redis that is too old', { redis_version: '6.2.14' }],
    ['a node of a Cluster', { cluster_enabled: '1' }],
  ])('marks %s as unsuitable', (_, info) => {
    expect(reportOf(undefined, { ...ALONE, ...info }).unsuitable).toBe(true);
  });

  it('contains a warning if there are more replicas than min-replicas-to-write', () => {
    expect(reportOf('sentinel', { connected_slaves: '2' }).warnings.join()).toContain(
      'min-replicas-to-write',
    );
    expect(
      reportOf('sentinel', { connected_slaves: '2' }, { 'min-replicas-to-write': '2' }).warnings,
    ).toEqual([]);
  });

  it.each([
    ['the number of min-replicas-to-write', { connected_slaves: '3' }, '2', 2],
    ['none, if Redis asks for none', { connected_slaves: '3' }, '0', 0],
    ['one, if Redis has replicas and its settings cannot be read', { connected_slaves: '3' }, undefined, 1],
    ['none, if Redis has no replica and its settings cannot be read', ALONE, undefined, 0],
  ] as const)('says how many replicas must confirm a setting: %s', (_, info, minReplicas, count) => {
    const settings =
      minReplicas === undefined ? undefined : new Map([['min-replicas-to-write', minReplicas]]);
    const answers = { info: new Map(Object.entries({ ...INFO, ...info })), settings };
    expect(nodeReportOf(answers, 'sentinel').confirmingReplicas).toBe(count);
  });

  it('counts unreadable settings as unsafe', () => {
    const { durable, warnings } = nodeReportOf({
      info: new Map(Object.entries({ ...INFO, aof_enabled: '1' })),
      settings: undefined,
    });
    expect(durable).toBe(false);
    expect(warnings.join()).toContain('not readable');
    expect(nodeReportOf({ info: new Map(), settings: undefined })).toMatchObject({ unsuitable: true });
  });
});

describe('the report of a node for writes of dictionaries', () => {
  const shareOf = (info: Record<string, string>) =>
    nodeReportOf({ info: new Map(Object.entries({ ...INFO, ...info })), settings: undefined });

  it('has the share of maxmemory that is used, and 0 without a limit', () => {
    expect(shareOf({ used_memory: '800', maxmemory: '1000' }).memoryShare).toBe(0.8);
    expect(shareOf({ used_memory: '800', maxmemory: '0' }).memoryShare).toBe(0);
    expect(nodeReportOf({ info: new Map(), settings: undefined }).memoryShare).toBe(0);
  });

  it('has the bytes that the slowest replica lacks', () => {
    const replicas = {
      connected_slaves: '2',
      master_repl_offset: '5000',
      slave0: 'ip=127.0.0.1,port=6380,state=online,offset=4900,lag=0',
      slave1: 'ip=127.0.0.1,port=6381,state=online,offset=1000,lag=1',
    };
    expect(shareOf(replicas).replicaLagBytes).toBe(4000);
    expect(shareOf({ connected_slaves: '0', master_repl_offset: '5000' }).replicaLagBytes).toBe(0);
    expect(shareOf({ connected_slaves: '1', master_repl_offset: '5000', slave0: '?' }).replicaLagBytes).toBe(
      0,
    );
  });

  it('counts only the kept writes for a replica that is getting a copy of all data', () => {
    const replicas = (state: string) => ({
      connected_slaves: '1',
      master_repl_offset: '5000',
      slave0: `ip=127.0.0.1,port=6380,state=${state},offset=0,lag=0`,
      mem_clients_slaves: '300',
    });
    for (const state of ['wait_bgsave', 'send_bulk', 'online']) {
      expect(shareOf(replicas(state)).replicaLagBytes).toBe(300);
    }
  });

  it.each([
    [{ 'repl-backlog-size': '1048576' }, /repl-backlog-size is 1048576.*set it to 16777216 or more/],
    [
      { 'client-output-buffer-limit': 'normal 0 0 0 slave 1048576 0 0 pubsub 1 1 1' },
      /client-output-buffer-limit of replicas is 1048576/,
    ],
  ])('warns of settings that make replicas copy all data during an import: %j', (settings, warning) => {
    expect(reportOf('sentinel', {}, settings).warnings).toEqual([expect.stringMatching(warning)]);
    expect(reportOf('sentinel', { connected_slaves: '0' }, settings).warnings).toEqual([]);
  });

  it('does not warn of a disabled limit of output buffers', () => {
    const settings = { 'client-output-buffer-limit': 'normal 0 0 0 slave 0 0 0 pubsub 1 1 1' };
    expect(reportOf('sentinel', {}, settings).warnings).toEqual([]);
  });
});

/** The time of Redis's clock when the local time is 0. */
const EPOCH_MS = 1_700_000_000_000;

/** A simulated Redis with a clock that the test sets, over a slow connection. */
class Line {
  now = 1000;
  /** The milliseconds by which Redis's clock was set, and its rate relative to the local clock. */
  offset = 0;
  rate = 1;
  readonly clock = new ServerClock();

  get redis(): number {
    return EPOCH_MS + this.now * this.rate + this.offset;
  }

  /** Reads Redis's clock. The request takes `there` and the reply takes `back`, in milliseconds. */
  read(there: number, back: number): number {
    const sentAt = this.now;
    this.now += there;
    const time = this.redis;
    this.now += back;
    return this.clock.take({ time, sentAt, receivedAt: this.now });
  }
}

const delay = fc.oneof(fc.constant(0.2), fc.double({ min: 0.05, max: 3000, noNaN: true }));
const reading = fc.record({
  there: delay,
  back: delay,
  pause: fc.double({ min: 0, max: 2000, noNaN: true }),
});
/** The rate of Redis's clock relative to the local clock. */
const rate = fc.double({ min: 1 - 0.0005, max: 1 + 0.0005, noNaN: true });

describe('ServerClock', () => {
  it('reports no step for delays of any length and for drift', () => {
    assertWithinTime(
      fc.property(fc.array(reading, { minLength: 1, maxLength: 40 }), rate, (readings, fast) => {
        const line = new Line();
        line.rate = fast;
        for (const { there, back, pause } of readings) {
          expect(line.read(there, back)).toBe(0);
          line.now += pause;
        }
      }),
    );
  });

  it('is never ahead of Redis by more than the drift', () => {
    assertWithinTime(
      fc.property(fc.array(reading, { minLength: 1, maxLength: 20 }), rate, (readings, fast) => {
        const line = new Line();
        line.rate = fast;
        for (const { there, back, pause } of readings) {
          line.read(there, back);
          line.now += pause;
          expect(line.clock.timeAt(line.now)).toBeLessThanOrEqual(line.redis + pause * 0.001 + 3);
        }
      }),
    );
  });

  it('is as exact as its most exact reading', () => {
    const line = new Line();
    line.read(900, 900);
    line.read(0.1, 0.1);
    line.read(500, 1500);
    expect(line.redis - line.clock.timeAt(line.now)).toBeLessThan(5);
  });

  it('reports each step of the clock once, forward or back, with any delays', () => {
    const far = fc.integer({ min: 200, max: 10_000_000 });
    const quick = fc.double({ min: 0.05, max: 20, noNaN: true });
    assertWithinTime(
      fc.property(
        far,
        fc.boolean(),
        fc.tuple(quick, quick, quick, quick),
        (distance, forward, [a, b, c, d]) => {
          const line = new Line();
          line.read(a, b);
          line.now += 1000;
          line.offset += forward ? distance : -distance;
          const told = line.read(c, d);
          expect(Math.sign(told)).toBe(forward ? 1 : -1);
          expect(Math.abs(Math.abs(told) - distance)).toBeLessThan(50);
          line.now += 1000;
          expect(line.read(a, d)).toBe(0);
        },
      ),
    );
  });

  it('reports no single small step, but the sum of many small steps in a short time', () => {
    const line = new Line();
    line.read(0.1, 0.1);
    const told: number[] = [];
    for (let second = 0; second < 10; second += 1) {
      line.now += 1000;
      line.offset += 30;
      told.push(line.read(0.1, 0.1));
    }
    expect(told.slice(0, 3)).toEqual([0, 0, 0]);
    // The report is the sum of all steps so far.
    expect(told.find((step) => step > 0)).toBeGreaterThan(100);
    const patient = new Line();
    patient.read(0.1, 0.1);
    for (let hour = 0; hour < 10; hour += 1) {
      patient.now += 3_600_000;
      patient.offset += 90;
      expect(patient.read(0.1, 0.1)).toBe(0);
    }
  });

  it('has no time before its first reading, and none after it forgets its readings', () => {
    const clock = new ServerClock();
    expect(clock.timeAt(5)).toBe(-Infinity);
    clock.take({ time: EPOCH_MS, sentAt: 1, receivedAt: 2 });
    clock.forget();
    expect(clock.timeAt(5)).toBe(-Infinity);
    expect(clock.take({ time: EPOCH_MS * 2, sentAt: 3, receivedAt: 4 })).toBe(0);
  });
});
