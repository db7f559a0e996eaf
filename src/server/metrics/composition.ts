import { systemClock } from '../../base/clock';
import { CommandMeters } from '../../redis/topology/open';
import type { AdminPages } from '../admin-server';
import { EventLoopMeter } from './event-loop-meter';
import type { Metrics } from './prometheus';
import { QuarantineMeter } from './quarantine-meter';
import type { MetricSources } from './sources';

/** The sources of a server that has not started. */
export function unmeasured(version: string): Omit<MetricSources, 'isReady'> {
  return {
    version,
    calls: undefined,
    permits: undefined,
    sessions: undefined,
    autocomplete: undefined,
    indexes: undefined,
    store: undefined,
    certificates: { all: () => [] },
    access: undefined,
    commands: new CommandMeters(),
    quarantine: new QuarantineMeter(systemClock),
    eventLoop: new EventLoopMeter(),
  };
}

export function metricsPage(metrics: Metrics): AdminPages {
  return {
    '/metrics': async () => ({
      status: 200,
      contentType: metrics.contentType,
      body: await metrics.text(),
    }),
  };
}
