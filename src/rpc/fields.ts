import { HoldfastError, type FieldViolation } from '../base/errors';
import { MAX_NAME_BYTES, type PageSizes } from '../base/names';

/**
 * Checks of single fields. Each check adds a violation and continues, so the caller learns of all invalid fields at
 * once. The checks run on every call, so the check of a valid field must be fast.
 */

/** Unicode's control characters: NUL, line breaks, terminal escapes, C1 controls. */
const CONTROL = /\p{Cc}/u;
/** Decoders replace invalid UTF-8 by U+FFFD, so two different names could become the same name. */
const REPLACEMENT = '\u{FFFD}';
/** The most bytes of UTF-8 that one UTF-16 unit takes. */
const MAX_BYTES_PER_UNIT = 3;

export class Violations {
  private list: FieldViolation[] | undefined;

  add(field: string, description: string): void {
    this.list ??= [];
    this.list.push({ field, description });
  }

  get all(): readonly FieldViolation[] {
    return this.list ?? [];
  }

  get any(): boolean {
    return this.list !== undefined;
  }

  get count(): number {
    return this.list?.length ?? 0;
  }

  throwIfAny(): void {
    if (this.list !== undefined) this.throw();
  }

  throw(): never {
    throw invalid(this.all);
  }
}

/** Throws INVALID_FIELD unless the list is empty. */
export function throwIfInvalid(violations: readonly FieldViolation[]): void {
  if (violations.length > 0) throw invalid(violations);
}

function invalid(violations: readonly FieldViolation[]): HoldfastError {
  const named = violations.map(({ field, description }) => `${field} ${description}`);
  return new HoldfastError('INVALID_FIELD', named.join('; '), { violations });
}

export function checkName(violations: Violations, field: string, name: string): void {
  if (name === '') violations.add(field, 'is required');
  else checkText(violations, field, name, MAX_NAME_BYTES);
}

/** Throws INVALID_FIELD immediately. Only for requests with no other field to check. */
export function requireName(field: string, name: string): void {
  const violations = new Violations();
  checkName(violations, field, name);
  violations.throwIfAny();
}

/** Checks the size and the characters of a text. The text may be empty. */
export function checkText(violations: Violations, field: string, text: string, maxBytes: number): void {
  if (text.length * MAX_BYTES_PER_UNIT > maxBytes) {
    const bytes = Buffer.byteLength(text);
    if (bytes > maxBytes) {
      violations.add(field, `is ${bytes} bytes of UTF-8; at most ${maxBytes} are accepted`);
    }
  }
  if (CONTROL.test(text)) violations.add(field, 'must not contain control characters');
  if (text.includes(REPLACEMENT)) violations.add(field, 'must be valid UTF-8 without U+FFFD');
}

/** Returns the page size to use: the default for 0, the maximum for a size above the maximum. */
export function checkPageSize(
  violations: Violations,
  field: string,
  size: number,
  { defaultSize, maxSize }: PageSizes,
): number {
  if (size < 0) violations.add(field, `is ${size} and must not be negative`);
  return size === 0 ? defaultSize : Math.min(size, maxSize);
}

/** A label must not be empty, and must not contain a control character or U+FFFD. */
export function isLabel(text: string): boolean {
  return text !== '' && !CONTROL.test(text) && !text.includes(REPLACEMENT);
}
