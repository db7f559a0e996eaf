import type { Service } from '../../../../src/leases/lease';
import type { Recorder } from '../../../support/history-recorder';
import type { ClientOptions } from '../../../support/clients/lease-client';
import { RecordedClient } from '../../recorded-client';

/** The margin from a call's wait timeout to its deadline (ms). A server answers UNAVAILABLE within this time. */
const CALL_PATIENCE_MS = 4000;
const CLIENT_OPTIONS: ClientOptions = {
  patienceMs: CALL_PATIENCE_MS,
  // Servers restart within two seconds. The default backoff delays a reconnect by up to two minutes.
  channel: { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 500 },
};

/** The clients of a worker, one for each service and each server that the worker has used. */
export class Servers {
  private readonly clients = new Map<string, RecordedClient>();
  private at: number;
  private service: Service = 'lock';

  constructor(
    private readonly name: string,
    start: number,
    private readonly addresses: readonly string[],
    private readonly recorder: Recorder,
  ) {
    this.at = start;
  }

  use(service: Service): void {
    this.service = service;
  }

  /** The client for the current service and server. */
  get current(): RecordedClient {
    const address = this.addresses[this.at % this.addresses.length] ?? '';
    const key = `${this.service} ${address}`;
    const known = this.clients.get(key);
    if (known !== undefined) return known;
    const client = new RecordedClient(this.name, address, this.recorder, this.service, CLIENT_OPTIONS);
    this.clients.set(key, client);
    return client;
  }

  next(): void {
    this.at += 1;
  }

  close(): void {
    for (const client of this.clients.values()) client.close();
  }
}
