import { clientsKilled, clientsStopped, heartbeatsDisturbed } from './client-faults';
import { clientClockStepped, serverClockStepped } from './clock-faults';
import { handedOver, slotMoved, staleReplicaPromoted } from './failover-faults';
import type { Fault } from './fault';
import {
  clientLinkCut,
  clientLinkSlow,
  replyDropped,
  storeLinkCut,
  storeLinkHalfOpen,
  storeLinkSlow,
} from './link-faults';
import { machineKilled, rollingRestart, serverDrained, serverKilled, serverStopped } from './server-faults';
import { storeClockNudged, storeClockStepped } from './store-clock';
import { resourceDeleted, storeFlushed } from './store-forgets';
import { storeKilled, storeTruncated } from './store-restarts';
import { storeAsleep, storeFull, storePaused, storeStopped } from './store-stalls';
import { commandsCut, hintsCut, scriptsFlushed } from './store-unnoticed';

/** All faults, by their names on the command line and in reports. */
export const FAULTS = {
  'server-killed': serverKilled,
  'server-stopped': serverStopped,
  'server-drained': serverDrained,
  'machine-killed': machineKilled,
  'rolling-restart': rollingRestart,
  'clients-killed': clientsKilled,
  'clients-stopped': clientsStopped,
  'heartbeats-disturbed': heartbeatsDisturbed,
  'store-killed': storeKilled,
  'store-truncated': storeTruncated,
  'store-flushed': storeFlushed,
  'resource-deleted': resourceDeleted,
  'store-stopped': storeStopped,
  'store-paused': storePaused,
  'store-asleep': storeAsleep,
  'store-full': storeFull,
  'scripts-flushed': scriptsFlushed,
  'commands-cut': commandsCut,
  'hints-cut': hintsCut,
  'reply-dropped': replyDropped,
  'store-link-cut': storeLinkCut,
  'store-link-half-open': storeLinkHalfOpen,
  'store-link-slow': storeLinkSlow,
  'client-link-cut': clientLinkCut,
  'client-link-slow': clientLinkSlow,
  'handed-over': handedOver,
  'stale-replica-promoted': staleReplicaPromoted,
  'slot-moved': slotMoved,
  'server-clock-stepped': serverClockStepped,
  'client-clock-stepped': clientClockStepped,
  'store-clock-stepped': storeClockStepped,
  'store-clock-nudged': storeClockNudged,
} as const satisfies Record<string, Fault>;

export type FaultName = keyof typeof FAULTS;

export const FAULT_NAMES = Object.keys(FAULTS) as FaultName[];

export function isFaultName(name: string): name is FaultName {
  return name in FAULTS;
}

export function faultOf(name: FaultName): Fault {
  return FAULTS[name];
}
