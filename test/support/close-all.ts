/**
 * Runs every step in order, also after a step that fails, and then throws the first error. A connection that stays open
 * would keep the test run alive.
 */
export async function closeAll(...steps: readonly (() => unknown)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
