import type { UnaryTasks } from '../load/unary';
import { LoadGroup } from './load-process';

/** The first calls cost more than those after them, and leave memory behind for good: neither is to be measured. */
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
