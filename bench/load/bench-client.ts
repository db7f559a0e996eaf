import { Client, credentials } from '@grpc/grpc-js';
import { present, promised } from '../../test/support/clients/unary-call';
import { BenchService, type LoopDelay } from '../support/bench-service';

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

  async loopDelay(): Promise<LoopDelay> {
    const { path, requestSerialize, responseDeserialize } = BenchService.loopDelay;
    const delay = await promised<LoopDelay | undefined>((done) =>
      this.client.makeUnaryRequest(path, requestSerialize, responseDeserialize, {}, done),
    );
    return present(delay);
  }

  close(): void {
    this.client.close();
  }

  private async call(method: typeof BenchService.empty): Promise<void> {
    const { path, requestSerialize, responseDeserialize } = method;
    await promised<object | undefined>((done) =>
      this.client.makeUnaryRequest(path, requestSerialize, responseDeserialize, {}, done),
    );
  }
}
