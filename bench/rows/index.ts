import { access } from './access';
import { chapter } from './chapter';
import { clients } from './clients';
import { contention } from './contention';
import { dictionary } from './dictionary';
import { etcd } from './etcd';
import { extremes } from './extremes';
import { growth } from './growth';
import { guards } from './guards';
import { handOver } from './hand-over';
import { heldLeases } from './held-leases';
import { innocent } from './innocent';
import { lists } from './lists';
import { memory } from './memory';
import { metrics } from './metrics';
import { overload } from './overload';
import { peers } from './peers';
import { readers } from './readers';
import type { Row } from './row';
import { prefix, substring, typo } from './searches';
import { semaphore } from './semaphore';
import { session } from './session';
import { sessionLeases } from './session-leases';
import { unary } from './unary';

/** All benchmarks, in the order in which they run. */
export const rows: readonly Row[] = [
  unary,
  guards,
  access,
  metrics,
  semaphore,
  etcd,
  handOver,
  contention,
  heldLeases,
  session,
  sessionLeases,
  clients,
  memory,
  readers,
  growth,
  lists,
  overload,
  chapter,
  peers,
  prefix,
  substring,
  typo,
  dictionary,
  innocent,
  extremes,
];
