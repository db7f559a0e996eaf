import { expectInvariantsToHold } from '../support/checkers/check-all';
import { MemorySink, mergeHistories } from '../support/history-recorder';
import { runLoad } from '../faults/load';

/** Clients of each name. */
const CLIENTS = 3;
/** What may not be violated by faults that lose nothing; the others allow for what a node that is away delays. */
const KEPT = [
  'exclusion',
  'over_issue',
  'fencing',
  'idempotence',
  'resurrection',
  'truthful_offset',
] as const;
/** Grants without which so many clients have not put the invariants to the test. */
const ENOUGH_OF_A_NAME = 3;

/**
 * Traffic on locks, exclusive and shared, unary and streamed, while something is done to the store; then the invariants
 * are checked over what the clients saw.
 */
export async function underLoad(
  names: readonly string[],
  addresses: readonly string[],
  forMs: number,
  trouble: () => Promise<void>,
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
  await Promise.all([...loads, trouble()]);
  for (const sink of sinks) {
    const history = mergeHistories(sink.events);
    expectInvariantsToHold(history, { only: KEPT });
    expect(history.filter(({ type }) => type === 'granted').length).toBeGreaterThan(ENOUGH_OF_A_NAME);
  }
}
