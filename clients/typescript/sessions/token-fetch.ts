import type { BearerToken, TokenSource } from '../connection/token';
import { NUMBERS } from '../numbers';

const { tokenMs } = NUMBERS.limits;

/** One call of the token source, with a time limit, because a callback may hang. A late token is dropped. */
export class TokenFetch {
  /** Rejects with the error of the source, or after the time limit. Undefined: the sessions carry no token. */
  readonly result: Promise<BearerToken | undefined>;
  private stop: ((error: Error) => void) | undefined;

  constructor(source: TokenSource | undefined) {
    this.result = source === undefined ? Promise.resolve(undefined) : this.within(source);
  }

  /** Ends the wait. The result is rejected, unless the token has come. */
  cancel(): void {
    this.stop?.(new Error('the client is closed'));
  }

  private async within(source: TokenSource): Promise<BearerToken> {
    let timer: NodeJS.Timeout | undefined;
    const ended = new Promise<never>((_, reject) => {
      this.stop = reject;
      timer = setTimeout(() => reject(new Error(LATE)), tokenMs);
    });
    try {
      return await Promise.race([source(), ended]);
    } finally {
      clearTimeout(timer);
      this.stop = undefined;
    }
  }
}

const LATE = `the token callback has given no token within ${tokenMs / 1000} s`;
