import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Collects garbage several times, because objects with finalizers need more than one run. */
export async function collectGarbage(runs = 5): Promise<void> {
  for (let count = 0; count < runs; count += 1) {
    await turn();
    collect();
  }
}
