import { between, oneOf, type Random } from '../../../support/random';
import type { Recorder } from '../../../support/history-recorder';
import type { HeartbeatGate, HeartbeatMode } from '../../sessions/heartbeat-gate';

/** The signal that begins a disturbance of the heartbeats, and ends it when it comes again. */
export const HEARTBEAT_SIGNAL = 'SIGUSR2';

const MODES: readonly HeartbeatMode[] = ['silent', 'silent', 'drop', 'delay'];
const DELAY_MS = [100, 1500] as const;

interface Disturbed {
  readonly gate: HeartbeatGate;
  /** The clients of the process that use sessions. */
  readonly clients: readonly string[];
  readonly recorder: Recorder;
  readonly random: Random;
}

/** Disturbs the heartbeats of this process while the nemesis wants it, and records the disturbance. */
export function disturbHeartbeats({ gate, clients, recorder, random }: Disturbed): void {
  let count = 0;
  process.on(HEARTBEAT_SIGNAL, () => {
    const fault = `${recorder.source} heartbeats ${count}`;
    if (gate.mode !== 'pass') {
      gate.mode = 'pass';
      recorder.record({ type: 'fault_ended', fault });
      return;
    }
    count += 1;
    gate.mode = oneOf(random, MODES);
    gate.delayMs = between(random, ...DELAY_MS);
    const what = gate.mode === 'delay' ? `heartbeats ${gate.delayMs} ms late` : `heartbeats: ${gate.mode}`;
    const begun = `${recorder.source} heartbeats ${count}`;
    recorder.record({ type: 'fault_started', fault: begun, kind: 'client_silent', what, clients });
  });
}
