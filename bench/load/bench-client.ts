import { Client, credentials } from '@grpc/grpc-js';
import { present, promised } from '../../test/support/clients/unary-call';
import { BenchService } from '../support/bench-service';
import type { LongStep } from '../support/long-steps';
import type { LoopDelay } from '../support/loop-monitor';

interface BenchMethod<Answer> {
  readonly path: string;
  readonly requestSerialize: () => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Answer;
}

/** A client of the service that only the benchmark's server has. */
export class BenchClient {
  private readonly client: Client;

  constructor(address: string) {
    this.client = new Client(address, credentials.createInsecure());
  }

  async empty(): Promise<void> {
    await this.call(BenchService.empty);
  }

  async collectGarbage(): Promise<void> {
    await this.call(BenchService.collectGarbage);
  }

  loopDelay(): Promise<LoopDelay> {
    return this.call(BenchService.loopDelay);
  }

  mostLayers(): Promise<number> {
    return this.call(BenchService.mostLayers);
  }

  async startSteps(): Promise<void> {
    await this.call(BenchService.startSteps);
  }

  longSteps(): Promise<readonly LongStep[]> {
    return this.call(BenchService.longSteps);
  }

  close(): void {
    this.client.close();
  }

  private async call<Answer>(method: BenchMethod<Answer>): Promise<Answer> {
    const { path, requestSerialize, responseDeserialize } = method;
    const answer = await promised<Answer | undefined>((done) =>
      this.client.makeUnaryRequest(path, requestSerialize, responseDeserialize, {}, done),
    );
    return present(answer);
  }
}
