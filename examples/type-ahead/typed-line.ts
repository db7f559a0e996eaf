/** The longest query that the server accepts, in bytes of UTF-8. */
const MAX_BYTES = 512;
/** Characters that a query must not contain. */
const REFUSED_CHARACTERS = /[\p{Cc}\p{Cs}\uFFFD]/u;

const CHARACTERS = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Splits a text into grapheme clusters. A letter with its accents is one cluster, and a flag is one cluster. */
export function charactersOf(text: string): string[] {
  return Array.from(CHARACTERS.segment(text), ({ segment }) => segment);
}

/** The text of the query line. */
export class TypedLine {
  private typed = '';

  get text(): string {
    return this.typed;
  }

  /** Appends the text. Returns false if the text is refused or empty. */
  type(text: string): boolean {
    if (REFUSED_CHARACTERS.test(text) || Buffer.byteLength(this.typed + text) > MAX_BYTES) return false;
    return this.set(this.typed + text);
  }

  /** Deletes the last character with all of its code points. */
  deleteLast(): boolean {
    return this.set(charactersOf(this.typed).slice(0, -1).join(''));
  }

  clear(): boolean {
    return this.set('');
  }

  private set(text: string): boolean {
    const changed = text !== this.typed;
    this.typed = text;
    return changed;
  }
}
