/** Compares answers with the exact best ten of each query. */
import { constants, setPriority } from 'node:os';
import { Reference, type Judged, type Recall } from '../support/reference';
import { itemsOf, type Corpus } from '../words/corpus';
import { words } from '../words/words';
import { serveTasks } from './serve-tasks';

const references = new Map<string, Promise<Reference>>();

function referenceOf(corpus: Corpus): Promise<Reference> {
  const key = JSON.stringify(corpus);
  const reference = references.get(key) ?? words().then((known) => Reference.of(itemsOf(known, corpus)));
  references.set(key, reference);
  return reference;
}

const tasks = {
  /** The mean recall of the answers. */
  recall: async ({ corpus, judged }: { corpus: Corpus; judged: readonly Judged[] }): Promise<Recall> => {
    const reference = await referenceOf(corpus);
    const all = judged.map((one) => reference.judge(one));
    const mean = (part: keyof Recall) => all.reduce((sum, one) => sum + one[part], 0) / all.length;
    return { found: mean('found'), placed: mean('placed') };
  },
};

export type TruthTasks = typeof tasks;

// This process has a low priority, because other processes are measured.
setPriority(constants.priority.PRIORITY_LOW);
serveTasks(tasks);
