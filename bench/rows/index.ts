import { chapter } from './chapter';
import { contention } from './contention';
import { etcd } from './etcd';
import { handOver } from './hand-over';
import { heldLeases } from './held-leases';
import { readers } from './readers';
import type { Row } from './row';
import { semaphore } from './semaphore';
import { unary } from './unary';

/** All benchmarks, in the order in which they run. */
export const rows: readonly Row[] = [
  unary,
  semaphore,
  etcd,
  handOver,
  contention,
  heldLeases,
  readers,
  chapter,
];
