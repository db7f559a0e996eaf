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
import { pauseAfter } from '../typescript-common/retry';
import { ServersOf } from '../typescript-common/servers';

const ANSWER_TIMEOUT_MS = 2000;
const MAX_ATTEMPTS = 4;

/** The unary calls of the program. */
export class Calls {
  constructor(private readonly servers: ServersOf<AutocompleteServiceClient>) {}

  async dictionary(dictionary: string): Promise<Dictionary | undefined> {
    const answer = await this.withRetries<GetDictionaryResponse>((client, ...rest) =>
      client.getDictionary({ dictionary }, ...rest),
    );
    return answer.dictionary;
  }

  /** Repeats the call after a lost answer, because AddRecent is idempotent. */
  async addRecent(list: string, text: string, entryId: string): Promise<void> {
    const request = AddRecentRequest.create({ list, text, entryId });
    await this.withRetries<AddRecentResponse>((client, ...rest) => client.addRecent(request, ...rest));
  }

  /** Never repeats the call, because a repeat could count a selection twice. A lost selection does no harm. */
  async recordSelection(dictionary: string, entryId: string): Promise<void> {
    const request = RecordSelectionRequest.create({ dictionary, entryId });
    await asPromise<RecordSelectionResponse>((...rest) =>
      this.servers.client().recordSelection(request, ...rest),
    );
  }

  /** Repeats a call at the next server while a retry can help. The attempts are few, because a user waits. */
  private async withRetries<T>(
    call: (client: AutocompleteServiceClient, ...rest: Rest<T>) => void,
  ): Promise<T> {
    for (let failures = 1; ; failures++) {
      try {
        return await asPromise<T>((...rest) => call(this.servers.client(), ...rest));
      } catch (error) {
        const pauseMs = pauseAfter(error as ServiceError, failures);
        if (pauseMs === undefined || failures === MAX_ATTEMPTS) throw error;
        this.servers.next();
        await sleep(pauseMs);
      }
    }
  }
}

type Rest<T> = [Metadata, Partial<CallOptions>, (error: ServiceError | null, value: T) => void];

function asPromise<T>(start: (...rest: Rest<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    start(new Metadata(), { deadline: Date.now() + ANSWER_TIMEOUT_MS }, (error, value) => {
      if (error) reject(error);
      else resolve(value);
    });
  });
}

export type AutocompleteServers = ServersOf<AutocompleteServiceClient>;

export function autocompleteServers(addresses: readonly string[]): AutocompleteServers {
  return new ServersOf(addresses, AutocompleteServiceClient);
}
