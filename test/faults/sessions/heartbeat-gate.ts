/** What happens to the heartbeats of a process. `silent`: no heartbeat is made. */
export type HeartbeatMode = 'pass' | 'silent' | 'drop' | 'delay';

/** A fault of a client process that disturbs the heartbeats of all its sessions. */
export class HeartbeatGate {
  mode: HeartbeatMode = 'pass';
  /** The delay of each heartbeat in mode `delay` (ms). */
  delayMs = 0;
}
