/** The last bytes of a child's output, kept in memory. */
export class OutputTail {
  private kept: Buffer = Buffer.alloc(0);

  constructor(private readonly limitBytes: number) {}

  add(chunk: Uint8Array): void {
    const all = Buffer.concat([this.kept, chunk]);
    this.kept = Buffer.from(all.subarray(Math.max(0, all.length - this.limitBytes)));
  }

  get text(): string {
    return this.kept.toString();
  }
}
