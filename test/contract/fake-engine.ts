/**
 * Replaces an engine behind the transport. A test sets the answers, and reads the calls that passed the field checks.
 * A new verb of the engine needs a default answer in `fake-engines.ts`.
 */
export class FakeEngine<Engine extends object> {
  /** The engine that the transport calls. */
  readonly engine: Engine;
  /** The answers of the test, by verb. All other verbs give their default answers. */
  answers: Partial<Engine> = {};
  /** For each call, the verb and the arguments that are data. Call and HoldSink are left out. */
  readonly calls: unknown[][];
  onDrain: () => Promise<void> = () => Promise.resolve();
  drainCount = 0;

  /** @param calls Two engines may share this list. The list then shows the order of their calls. */
  constructor(
    private readonly defaults: Engine,
    calls: unknown[][] = [],
  ) {
    this.calls = calls;
    const verbs = Object.keys(defaults) as (keyof Engine & string)[];
    const methods = verbs.map((verb) => [verb, (...given: unknown[]) => this.call(verb, given)]);
    this.engine = Object.fromEntries(methods) as Engine;
  }

  /** The verbs of the calls, in order. */
  get verbs(): unknown[] {
    return this.calls.map(([verb]) => verb);
  }

  /** Makes every verb reject with this error. */
  failWith(error: unknown): void {
    for (const verb of Object.keys(this.defaults)) {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- an error of any type
      Object.assign(this.answers, { [verb]: () => Promise.reject(error) });
    }
  }

  reset(): void {
    this.answers = {};
    this.calls.splice(0);
  }

  async drain(): Promise<void> {
    this.drainCount += 1;
    await this.onDrain();
  }

  private call(verb: keyof Engine & string, given: unknown[]): unknown {
    this.calls.push([verb, ...given.filter(isData)]);
    const answer = (this.answers[verb] ?? this.defaults[verb]) as (...args: unknown[]) => unknown;
    return answer(...given);
  }
}

function isData(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
