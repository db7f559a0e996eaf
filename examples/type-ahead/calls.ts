import { setTimeout as sleep } from 'node:timers/promises';
import { Metadata, type CallOptions, type ServiceError } from '@grpc/grpc-js';
import {
  AddRecentRequest,
  type AddRecentResponse,
  AutocompleteServiceClient,
  type Dictionary,
  type GetDictionaryResponse,
  RecordSelectionRequest,
  type RecordSelectionResponse,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { pauseAfter } from '../worker-typescript/retry';
import { ServersOf } from '../worker-typescript/servers';

const ANSWER_MS = 2000;
const TRIES = 4;

/** The calls that are not the stream. */
export class Calls {
  constructor(private readonly servers: ServersOf<AutocompleteServiceClient>) {}

  async dictionary(dictionary: string): Promise<Dictionary | undefined> {
    const answer = await this.insisting<GetDictionaryResponse>((client, ...rest) =>
      client.getDictionary({ dictionary }, ...rest),
    );
    return answer.dictionary;
  }

  /** Idempotent, so that it is repeated where an answer is lost. */
  async addRecent(list: string, text: string, entryId: string): Promise<void> {
    const request = AddRecentRequest.create({ list, text, entryId });
    await this.insisting<AddRecentResponse>((client, ...rest) => client.addRecent(request, ...rest));
  }

  /** Once: a repeat would count twice what was chosen once, and one too few does no harm. */
  async recordSelection(dictionary: string, entryId: string): Promise<void> {
    const request = RecordSelectionRequest.create({ dictionary, entryId });
    await answered<RecordSelectionResponse>((...rest) =>
      this.servers.client().recordSelection(request, ...rest),
    );
  }

  /** Makes a call again, at the next server, while that is of use; for a person who waits, a few times. */
  private async insisting<T>(
    call: (client: AutocompleteServiceClient, ...rest: Rest<T>) => void,
  ): Promise<T> {
    for (let failures = 1; ; failures++) {
      try {
        return await answered<T>((...rest) => call(this.servers.client(), ...rest));
      } catch (error) {
        const pauseMs = pauseAfter(error as ServiceError, failures);
        if (pauseMs === undefined || failures === TRIES) throw error;
        this.servers.next();
        await sleep(pauseMs);
      }
    }
  }
}

type Rest<T> = [Metadata, Partial<CallOptions>, (error: ServiceError | null, value: T) => void];

function answered<T>(start: (...rest: Rest<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    start(new Metadata(), { deadline: Date.now() + ANSWER_MS }, (error, value) => {
      if (error) reject(error);
      else resolve(value);
    });
  });
}

export type AutocompleteServers = ServersOf<AutocompleteServiceClient>;

export function autocompleteServers(addresses: readonly string[]): AutocompleteServers {
  return new ServersOf(addresses, AutocompleteServiceClient);
}
