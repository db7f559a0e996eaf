/**
 * Copies of the dictionary scripts without a clock. The original scripts stop after a budget of wall time, so their
 * results depend on the load of the machine. The copies count steps and always give the same results.
 */

/**
 * The number of clock reads of a writing script before its budget ends. A script reads the clock once per four records.
 */
const WRITE_READS = 20;

const CLOCK = `local function elapsed()
local time = redis.call('TIME')
return time[1] * 1000000 + time[2] - started
end
`;
const OUT_OF_TIME = 'index.work <= 700 or elapsed() <= budget';

function replaced(text: string, find: string, replacement: string): string {
  if (!text.includes(find)) throw new Error(`no script has the text: ${find}`);
  return text.replace(find, replacement);
}

/**
 * Removes the clock. A script that reads then has no time limit. A script that writes stops after a number of records.
 */
export function withoutClock(text: string, maxReads = WRITE_READS): string {
  if (!text.includes(CLOCK)) return text;
  const most = text.startsWith('#!lua flags=no-writes') ? 'math.huge' : String(maxReads);
  return replaced(
    text,
    CLOCK,
    `local clock_reads = 0
local function elapsed()
clock_reads = clock_reads + 1
return clock_reads > ${most} and math.huge or 0
end
`,
  );
}

/** The suggest script, changed to cut every query short after this amount of work. */
export function cutAfter(text: string, work: number): string {
  return replaced(text, OUT_OF_TIME, `index.work <= ${work}`);
}
