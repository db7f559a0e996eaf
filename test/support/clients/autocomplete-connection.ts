import { credentials, Metadata } from '@grpc/grpc-js';
import {
  AutocompleteServiceClient,
  type Profile,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { DictionaryImport } from './dictionary-import';
import { OWN_CONNECTION, promised, type Method } from './unary-call';

/** The generated stub of AutocompleteService with a connection of its own, with promises. */
export class AutocompleteConnection {
  readonly stub: AutocompleteServiceClient;

  constructor(address: string) {
    this.stub = new AutocompleteServiceClient(address, credentials.createInsecure(), OWN_CONNECTION);
  }

  call<Request, Response>(method: Method<Request, Response>, request: Request): Promise<Response> {
    return promised((done) => method.call(this.stub, request, new Metadata(), {}, done));
  }

  /** Begins an import. The caller sends the entries and ends the import. */
  startImport(dictionary: string, profile?: Profile): DictionaryImport {
    return new DictionaryImport(this.stub, dictionary, profile);
  }

  close(): void {
    this.stub.close();
  }
}
