/**
 * Tests that run at the same time, because each of them waits most of its time. They share nothing that one of them changes.
 * The bodies begin after the `beforeAll` above this call, and each test reports its own body.
 */
export function testsTogether(bodies: Readonly<Record<string, () => Promise<void>>>): void {
  const outcomes = new Map<string, Promise<{ readonly error?: unknown }>>();
  beforeAll(() => {
    for (const [title, body] of Object.entries(bodies)) {
      const outcome = body().then(
        () => ({}),
        (error: unknown) => ({ error }),
      );
      outcomes.set(title, outcome);
    }
  });
  // After a failed beforeAll the bodies still run, and the afterAll must not end what they use.
  afterAll(() => Promise.all(outcomes.values()));

  test.each(Object.keys(bodies))('%s', async (title) => {
    const outcome = await outcomes.get(title);
    if (outcome === undefined) throw new Error('a beforeAll has failed');
    if ('error' in outcome) throw outcome.error;
  });
}
