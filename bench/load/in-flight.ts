/**
 * Runs `work` for 0 to `count` - 1, always `inFlight` at a time: a closed loop, as so many clients make it.
 * `client` says which of them it is.
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
