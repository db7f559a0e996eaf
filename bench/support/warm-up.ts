import type { UnaryTasks } from '../load/unary';
import { LoadGroup } from './load-process';

/** Makes a server's first calls, which cost more CPU and memory than later calls, before the measurement. */
export async function warmUpServer(address: string): Promise<void> {
  const group = new LoadGroup<UnaryTasks>('unary', 2);
  try {
    await group.askEach('connect', (index) => ({ address, label: `warm-up-${index}` }));
    for (let turn = 0; turn < 3; turn += 1) {
      await group.ask('work', { kind: 'pairs', count: 1000, inFlight: 16 });
    }
  } finally {
    group.end();
  }
}
