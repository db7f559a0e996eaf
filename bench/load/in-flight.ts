/**
 * Runs `work` for each index from 0 to `count` - 1, with `inFlight` clients in a closed loop. Each client starts its next
 * work when its last work is done. `client` is the number of the client.
 */
export async function inFlight(
  { count, inFlight: clients }: Amount,
  work: (index: number, client: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const run = async (client: number): Promise<void> => {
    while (next < count) await work(next++, client);
  };
  await Promise.all(Array.from({ length: Math.min(clients, count) }, (_, client) => run(client)));
}

export interface Amount {
  readonly count: number;
  readonly inFlight: number;
}
