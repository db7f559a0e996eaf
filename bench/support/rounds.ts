export interface Rounds {
  /** Rounds before the first measurement, for cold code and cold caches. */
  readonly warmUps: number;
  readonly rounds: number;
}

/** Takes the rounds one after the other. Returns the values without those of the warm-ups. */
export async function takeRounds<T>(
  { warmUps, rounds }: Rounds,
  take: (index: number) => Promise<T>,
): Promise<T[]> {
  const values: T[] = [];
  for (let index = 0; index < warmUps + rounds; index += 1) {
    const value = await take(index);
    if (index >= warmUps) values.push(value);
  }
  return values;
}
