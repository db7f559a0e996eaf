import type { LeaseMeters } from '../../leases/lease-meters';
import type { Service } from '../../leases/lease';
import type { StoreHealth } from '../../base/store-health';
import type { CertificateEnds } from '../../access/certificate-ends';
import type { OpenedAccess } from '../../access/open-access';
import type { CallMeters } from '../../rpc/entry/call-meters';
import type { CommandMeters } from '../../redis/topology/open';
import type { EventLoopMeter } from './event-loop-meter';
import type { QuarantineMeter } from './quarantine-meter';

/** The parts of a server that metrics are read from. A part is undefined until the server has it. */
export interface MetricSources {
  readonly version: string;
  readonly calls: CallMeters | undefined;
  readonly permits: { readonly meters: LeaseMeters; waiterCountOf(service: Service): number } | undefined;
  readonly sessions: { readonly size: number } | undefined;
  readonly autocomplete: { readonly suggestedCounts: Readonly<Record<string, number>> } | undefined;
  readonly indexes:
    { readonly usedBytes: number; readonly budgetBytes: number; readonly count: number } | undefined;
  readonly store: StoreHealth | undefined;
  /** The certificates in use. */
  readonly certificates: Pick<CertificateEnds, 'all'>;
  readonly access: Pick<OpenedAccess, 'reloads'> | undefined;
  readonly commands: CommandMeters;
  readonly quarantine: QuarantineMeter;
  readonly eventLoop: EventLoopMeter;
  /** Whether the server accepts work, as health and `/readyz` say. */
  readonly isReady: () => boolean;
}
