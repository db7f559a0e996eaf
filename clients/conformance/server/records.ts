/** One thing that a server has received. */
export interface ReceivedRecord {
  readonly kind: string;
  readonly server: string;
  /** The time of the receipt (ms, monotonic clock). */
  readonly at: number;
  readonly [field: string]: unknown;
}

/** What all servers of a case have received, and what was wrong with it. */
export class Records {
  readonly all: ReceivedRecord[] = [];
  readonly violations: string[] = [];
  private readonly listeners = new Set<() => void>();

  constructor(private readonly log: (line: string) => void) {}

  add(server: string, kind: string, fields: Readonly<Record<string, unknown>>): void {
    this.all.push({ ...fields, kind, server, at: performance.now() });
    this.log(`${server} < ${kind} ${JSON.stringify(fields)}`);
    for (const listener of this.listeners) listener();
  }

  sent(server: string, text: string): void {
    this.log(`${server} > ${text}`);
  }

  /** The client has broken a rule, so the case fails. */
  violation(text: string): void {
    if (this.violations.includes(text)) return;
    this.violations.push(text);
    this.log(`! ${text}`);
    for (const listener of this.listeners) listener();
  }

  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
