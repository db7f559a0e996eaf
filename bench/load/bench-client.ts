import { setTimeout as sleep } from 'node:timers/promises';
import { Client, credentials, type ChannelOptions } from '@grpc/grpc-js';
import { present, promised } from '../../test/support/clients/calls';
import { BenchService, type LoopDelay, type MemoryInUse } from '../support/bench-service';

interface BenchMethod<Answer> {
  readonly path: string;
  readonly requestSerialize: () => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Answer;
}

/** A client of the service that only the benchmark's server has. */
export class BenchClient {
  private readonly client: Client;

  constructor(address: string, options: ChannelOptions = {}) {
    this.client = new Client(address, credentials.createInsecure(), options);
  }

  async empty(): Promise<void> {
    await this.call(BenchService.empty);
  }

  /** Collects garbage several times, because objects with finalizers need more than one run. */
  async collectGarbage(): Promise<void> {
    for (let turn = 0; turn < 3; turn += 1) {
      await this.call(BenchService.collectGarbage);
      await sleep(300);
    }
  }

  /** The memory of the server without garbage. */
  async memoryInUse(): Promise<MemoryInUse> {
    await this.collectGarbage();
    return this.call(BenchService.memoryInUse);
  }

  loopDelay(): Promise<LoopDelay> {
    return this.call(BenchService.loopDelay);
  }

  mostLayers(): Promise<number> {
    return this.call(BenchService.mostLayers);
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
