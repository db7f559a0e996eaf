import { expectInvariantsToHold } from '../support/checkers/check-all';
import { MemorySink, mergeHistories } from '../support/history-recorder';
import { runLoad } from '../faults/load';

/** The number of clients for each name. */
const CLIENTS = 3;
/**
 * The invariants that every fault without data loss must keep. The other invariants limit delays. While a node is down,
 * a delay may exceed such a limit.
 */
const CHECKED = [
  'exclusion',
  'over_issue',
  'fencing',
  'idempotence',
  'resurrection',
  'truthful_offset',
] as const;
/** The least number of grants for each name, on average, for a meaningful test of the invariants. */
const FEWEST_GRANTS = 3;

/**
 * Runs clients with exclusive and shared locks, unary and streamed, while `fault` runs. Then checks the invariants over
 * the clients' history.
 */
export async function underLoad(
  names: readonly string[],
  addresses: readonly string[],
  forMs: number,
  fault: () => Promise<void>,
): Promise<void> {
  const sinks = names.map(() => new MemorySink());
  const loads = names.map((name, i) =>
    runLoad(
      {
        call: 'load',
        client: `${name} client`,
        clientCount: CLIENTS,
        addresses,
        service: 'lock',
        name,
        mostPermits: 1,
        sharedPercent: 25,
        seed: i + 1,
        forMs,
      },
      sinks[i] as MemorySink,
    ),
  );
  await Promise.all([...loads, fault()]);
  let grantCount = 0;
  for (const sink of sinks) {
    const history = mergeHistories(sink.events);
    expectInvariantsToHold(history, { only: CHECKED });
    grantCount += history.filter(({ type }) => type === 'granted').length;
  }
  expect(grantCount).toBeGreaterThan(FEWEST_GRANTS * names.length);
}
