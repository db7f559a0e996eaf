import { builtExample } from './example-languages';
import { ExampleProcess } from './example-process';

export interface LedgerWrite {
  readonly token: number;
  readonly text: string;
}

/** The protected store of the examples. */
export class LedgerProcess {
  private constructor(
    private readonly process: ExampleProcess,
    readonly url: string,
  ) {}

  static async start(): Promise<LedgerProcess> {
    const process = await ExampleProcess.start(builtExample('ledger', 'ledger.js'), [
      '--listen',
      '127.0.0.1:0',
    ]);
    const { match } = await process.line(/^the ledger listens on (\S+)$/);
    return new LedgerProcess(process, `http://${match[1]}`);
  }

  async writes(name: string): Promise<readonly LedgerWrite[]> {
    const response = await fetch(`${this.url}/${name}`);
    return (await response.json()) as LedgerWrite[];
  }

  /** Resolves to the status and the body of the answer. */
  async write(name: string, body: string): Promise<{ status: number; body: string }> {
    const response = await fetch(`${this.url}/${name}`, { method: 'POST', body });
    return { status: response.status, body: await response.text() };
  }

  close(): Promise<void> {
    return this.process.close();
  }
}
