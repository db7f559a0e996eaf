import { promisify } from 'node:util';
import { Server, ServerCredentials, type UntypedServiceImplementation } from '@grpc/grpc-js';
import { AutocompleteServiceService } from '../../../../generated/typescript/holdfast/v1/autocomplete_service';
import { LockServiceService } from '../../../../generated/typescript/holdfast/v1/lock_service';

/** A gRPC server of a test. Methods without a handler answer UNIMPLEMENTED. */
export class StubServer {
  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async start(handlers: UntypedServiceImplementation): Promise<StubServer> {
    const server = new Server();
    for (const service of [LockServiceService, AutocompleteServiceService]) {
      server.addService(service, handlers);
    }
    const bind = promisify(server.bindAsync.bind(server));
    return new StubServer(server, await bind('127.0.0.1:0', ServerCredentials.createInsecure()));
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  close(): void {
    this.server.forceShutdown();
  }
}
