import type { StatusSpec } from './status-spec';
import { Takeovers } from './takeovers';

/** How a server behaves. A case changes it with the steps `set` and `on`. */
export class Behaviour {
  /** False: heartbeats get no answer. The first heartbeat always gets one. */
  echo = true;
  renew = true;
  /** True: nothing is sent any more, although the connection lives. */
  silent = false;
  /** The accepted bearer tokens. Undefined: every caller is served. */
  tokens: readonly string[] | undefined;
  /** The status of each new session. */
  refuse: StatusSpec | undefined;
  /** The heartbeat that each response names. */
  nameHeartbeat: number | undefined;
  /** Added to each `expire_offset` (ms). */
  addOffsetMs = 0;
  heartbeatIntervalMs = 500;
  heartbeatTimeoutMs = 5000;
  maxCommandCount = 1000;
  readonly takeovers = new Takeovers();
}
