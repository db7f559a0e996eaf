/** What a query may have, in bytes of UTF-8: the server refuses more. */
const LONGEST = 512;
/** What a query may not have; nor is any of it typed on purpose. */
const UNWANTED = /[\p{Cc}\p{Cs}\uFFFD]/u;

const CHARACTERS = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** What a person takes for characters: a letter with its accents is one, and so is a flag. */
export function charactersOf(text: string): string[] {
  return Array.from(CHARACTERS.segment(text), ({ segment }) => segment);
}

/** The line as typed so far. */
export class TypedLine {
  private typed = '';

  get text(): string {
    return this.typed;
  }

  /** False: nothing changed. */
  type(text: string): boolean {
    if (UNWANTED.test(text) || Buffer.byteLength(this.typed + text) > LONGEST) return false;
    return this.become(this.typed + text);
  }

  /** Takes the last character away, with all that it consists of. */
  rubOut(): boolean {
    return this.become(charactersOf(this.typed).slice(0, -1).join(''));
  }

  clear(): boolean {
    return this.become('');
  }

  private become(text: string): boolean {
    const changed = text !== this.typed;
    this.typed = text;
    return changed;
  }
}
