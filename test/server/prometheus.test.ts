import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AutocompleteSource } from '../../src/autocomplete/autocomplete-metrics';
import { Distribution } from '../../src/base/meters';
import { LeaseMeters } from '../../src/leases/lease-meters';
import type { LeaseSource } from '../../src/leases/lease-metrics';
import { CommandMeters, nodeName, OTHER_NODES } from '../../src/redis/command-meters';
import { ERROR_TABLE } from '../../src/rpc/call-errors';
import { CallMeters, FailureCounts } from '../../src/rpc/entry/call-meters';
import { Metrics, metricsOf, unmeasured } from '../../src/server/metrics/prometheus';
import { EventLoopMeter, type MetricSources } from '../../src/server/metrics/sources';
import { products } from '../../src/server/products';
import { metricsPage } from '../../tools/metrics-docs';
import { ManualClock } from '../support/manual-clock';
import { ROOT } from '../support/root';

describe('prometheus', () => {
  /** The text that Prometheus reads. */

  const metrics = metricsOf(products);

  /** The metrics of a server whose products have done nothing but what `opened` says. */
  function textOf(
    sources: Partial<MetricSources>,
    opened: Partial<LeaseSource> & Partial<AutocompleteSource> = {},
  ): Promise<string> {
    const all = { ...unmeasured('1.2.3'), isReady: () => true, ...sources };
    const source: Omit<LeaseSource & AutocompleteSource, 'failures'> = {
      leases: { meters: new LeaseMeters(), waiterCountOf: () => 0 },
      sessions: { size: 0 },
      engine: { suggestedCounts: {} },
      indexes: { usedBytes: 0, budgetBytes: 0, count: 0 },
    };
    return new Metrics(all, products, () => ({ ...source, failures: new FailureCounts(), ...opened })).text();
  }

  test('a distribution counts a value in the first bucket that is not below the value', () => {
    const distribution = new Distribution([1, 10]);
    [0, 1, 1.5, 10, 11].forEach((value) => distribution.add(value));
    expect([distribution.counts, distribution.sum]).toEqual([[2, 2, 1], 23.5]);
  });

  test('shows a distribution of milliseconds as a histogram of seconds', async () => {
    const meters = new LeaseMeters();
    [50, 300, 1e6].forEach((ms) => meters.lock.slackMs.add(ms));
    const text = await textOf({}, { leases: { meters, waiterCountOf: () => 7 } });
    const lines = text.split('\n').filter((line) => /^holdfast_renewal_slack\S+service="lock"/.test(line));
    expect(lines.slice(0, 3)).toEqual([
      'holdfast_renewal_slack_seconds_bucket{le="0.1",service="lock"} 1',
      'holdfast_renewal_slack_seconds_bucket{le="0.25",service="lock"} 1',
      'holdfast_renewal_slack_seconds_bucket{le="0.5",service="lock"} 2',
    ]);
    expect(lines.slice(-3)).toEqual([
      'holdfast_renewal_slack_seconds_bucket{le="+Inf",service="lock"} 3',
      'holdfast_renewal_slack_seconds_sum{service="lock"} 1000.35',
      'holdfast_renewal_slack_seconds_count{service="lock"} 3',
    ]);
    expect(text).toContain('holdfast_waiters{service="semaphore"} 7');
  });

  test('counts calls by type, service, method and status, and times only unary calls', async () => {
    const calls = new CallMeters();
    const unary = calls.of({ path: '/a.B/Get', requestStream: false, responseStream: false });
    const stream = calls.of({ path: '/a.B/Watch', requestStream: false, responseStream: true });
    for (const meter of [unary, stream]) {
      meter.startedCount += 2;
      meter.end(0);
      meter.end(99);
      meter.ms?.add(3);
    }
    calls.refused('/a.B/Get', 8);
    calls.refused('/a.B/Unknown', 8);
    const text = await textOf({ calls });
    const labels = 'grpc_type="unary",grpc_service="a.B",grpc_method="Get"';
    expect(text).toContain(`grpc_server_started_total{${labels}} 3\n`);
    expect(text).toContain(`grpc_server_handled_total{${labels},grpc_code="UNKNOWN"} 1\n`);
    expect(text).toContain(`grpc_server_handled_total{${labels},grpc_code="RESOURCE_EXHAUSTED"} 1\n`);
    expect(text).toContain(
      'grpc_type="server_stream",grpc_service="a.B",grpc_method="Watch",grpc_code="OK"} 1\n',
    );
    expect(text.match(/^grpc_server_handling_seconds_count.*$/gm)).toEqual([
      `grpc_server_handling_seconds_count{${labels}} 1`,
    ]);
    expect(text).not.toContain('grpc_method="Unknown"');
  });

  test('counts the failed commands of sessions by reason, and shows each reason from the start', async () => {
    const failures = new FailureCounts();
    failures.add('OVERLOADED');
    failures.add('OVERLOADED');
    const text = await textOf({}, { failures });
    expect(text).toContain('holdfast_session_failures_total{reason="OVERLOADED"} 2\n');
    const reasons = [...text.matchAll(/^holdfast_session_failures_total\{reason="(\w+)"\} \d+$/gm)];
    expect(reasons.map(([, reason]) => reason).sort()).toEqual(Object.keys(ERROR_TABLE).sort());
  });

  test('counts the failed queries of SuggestStream by reason, and shows each reason from the start', async () => {
    const failures = new FailureCounts();
    failures.add('QUOTA_EXCEEDED');
    const text = await textOf({}, { failures });
    const labels = (reason: string): string => `{grpc_method="SuggestStream",reason="${reason}"}`;
    expect(text).toContain(`holdfast_query_failures_total${labels('QUOTA_EXCEEDED')} 1\n`);
    for (const reason of Object.keys(ERROR_TABLE)) {
      expect(text).toContain(`holdfast_query_failures_total${labels(reason)} `);
    }
  });

  test('bounds the number of Redis nodes with numbers of their own', () => {
    const meters = new CommandMeters();
    for (let port = 0; port < 300; port += 1) meters.of(`10.0.0.1:${port}`);
    expect([...meters.all()]).toHaveLength(257);
    expect(meters.of('10.0.0.2:1').node).toBe(OTHER_NODES);
    expect(meters.of('10.0.0.1:7').node).toBe('10.0.0.1:7');
  });

  test('shows how many operations shared a command, for each Redis', async () => {
    const commands = new CommandMeters();
    commands.of('10.0.0.1:6379').sharedCount = 7;
    const text = await textOf({ commands });
    expect(text).toContain('holdfast_redis_shared_operations_total{node="10.0.0.1:6379"} 7\n');
  });

  test.each([
    ['redis://user:secret@redis.internal:6380/3', 'redis.internal:6380'],
    ['rediss://[::1]', '[::1]:6379'],
    ['redis+unix:///run/redis.sock', '/run/redis.sock'],
    ['/run/redis.sock', '/run/redis.sock'],
  ])('names the Redis at %s without its user and password', (endpoint, name) => {
    expect(nodeName(endpoint)).toBe(name);
  });

  test('names each metric once, in base units, and counters end with _total', () => {
    const names = metrics.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { name, type, unit } of metrics) {
      expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
      if (unit === 'seconds' || unit === 'bytes') expect(name).toMatch(new RegExp(`_${unit}(_total)?$`));
    }
  });

  test('no label has names of resources, holders or identities', () => {
    const labels = new Set(metrics.flatMap((metric) => Object.keys(metric.labels)));
    expect([...labels].sort()).toEqual([
      ...[
        'cause',
        'certificate',
        'content',
        'failure',
        'grpc_code',
        'grpc_method',
        'grpc_service',
        'grpc_type',
        'kind',
      ],
      ...['node', 'reason', 'service', 'version'],
    ]);
  });

  test('docs/operations/metrics.md has every metric', () => {
    expect(readFileSync(join(ROOT, 'docs/operations/metrics.md'), 'utf8')).toBe(metricsPage());
  });
});

describe('event loop meter', () => {
  const built = (path: string): string => JSON.stringify(join(ROOT, 'dist/src', path));
  /** Runs a program in Node until its event loop has no work left. Fails after a minute. */
  const run = (program: string): string =>
    execFileSync(process.execPath, ['-e', program], { encoding: 'utf8', timeout: 60_000 });

  test('adds up the stalls of a second and longer, and shows every delay in the distribution', async () => {
    const clock = new ManualClock(5000);
    const meter = new EventLoopMeter(clock);
    meter.start();
    await clock.advance(1000);
    expect(meter.stalledMs).toBe(0);
    await clock.jump(1000);
    expect(meter.stalledMs).toBe(0);
    await clock.jump(1100);
    await clock.advance(500);
    await clock.jump(4100);
    expect(meter.stalledMs).toBe(5000);
    expect(meter.delayMs.sum).toBe(5900);
    meter.close();
    expect(clock.timerCount).toBe(0);
  });

  test('a meter keeps no process alive, even if nothing closes the meter', () => {
    const program = `
    const { EventLoopMeter } = require(${built('server/metrics/sources.js')});
    new EventLoopMeter().start();
    process.on('exit', () => console.log('over'));`;
    expect(run(program)).toBe('over\n');
  });

  test('the clock of a server keeps a process alive while a timer waits, and no longer', () => {
    const program = `
    const { systemClock } = require(${built('base/clock.js')});
    systemClock.after(3_600_000, () => undefined).cancel();
    systemClock.after(50, () => console.log('waited'));`;
    expect(run(program)).toBe('waited\n');
  });
});
