import type { CollectedRows } from './entry-collector';
import { compareForms, compareIds } from './packed-entry';
import type { WorkMeter } from './work-meter';

/** The live rows of a collector in the order of rank: score from high to low, then folded text, then id. */
export function rowsByRank(rows: CollectedRows, liveCount: number, meter: WorkMeter): Uint32Array {
  const { forms, formsAt, entries, entryAt } = rows;
  const order = liveRows(rows, liveCount);
  return order.sort((a, b) => {
    meter.spend(1);
    const byScore = rows.scoreOf(b) - rows.scoreOf(a);
    if (byScore !== 0) return byScore;
    const byText = compareForms(forms, formsAt[a] as number, forms, formsAt[b] as number);
    if (byText !== 0) return byText;
    return compareIds(entries, entryAt[a] as number, entries, entryAt[b] as number);
  });
}

function liveRows(rows: CollectedRows, liveCount: number): Uint32Array {
  const live = new Uint32Array(liveCount);
  let count = 0;
  for (let row = 0; row < rows.rowCount; row++) if (rows.isLive(row)) live[count++] = row;
  return live;
}
