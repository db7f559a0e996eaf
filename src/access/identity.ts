/** Bound of an identity in UTF-8 bytes. */
export const MAX_IDENTITY_BYTES = 256;

/** Control characters, invisible characters, line separators, lone surrogates, and U+FFFD. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\p{Cs}\ufffd]/u;

/** Why a text cannot be an identity. Undefined: the text is an identity. */
export function identityProblem(identity: string): string | undefined {
  if (Buffer.byteLength(identity) > MAX_IDENTITY_BYTES) return `longer than ${MAX_IDENTITY_BYTES} bytes`;
  if (UNPRINTABLE.test(identity)) return 'has control characters or invisible characters';
  return undefined;
}

/** The forms of identities, as globs may have them: each character can be in an identity, or is `*`. */
const FORMS: Readonly<Record<string, { readonly form: RegExp; readonly rule: string }>> = {
  'spiffe://': {
    form: /^spiffe:\/\/[a-z0-9._*-]+(\/[A-Za-z0-9._*-]+)*$/,
    rule: 'the trust domain of a SPIFFE ID is in lower case, no segment is empty, and there are no other characters than letters, digits, ".", "_" and "-"',
  },
  'dns:': {
    form: /^dns:[a-z0-9._*-]+$/,
    rule: 'identities of DNS names are in lower case, and have letters, digits, ".", "_" and "-"',
  },
  'jwt:': { form: /[#*]/, rule: 'identities of JSON web tokens are "jwt:<issuer>#<claim>"' },
  'token:': { form: /^token:[^ \t]+$/, rule: 'identities of the token file have no spaces' },
};

export const BEGINNINGS: readonly string[] = Object.keys(FORMS);

/** Why a glob matches no identity. Undefined: the glob may match one. A rule that matches nothing denies nothing. */
export function globProblem(glob: string): string | undefined {
  const beginning = BEGINNINGS.find((one) => glob.startsWith(one));
  const known = beginning === undefined ? undefined : FORMS[beginning];
  if (known !== undefined) return known.form.test(glob) ? undefined : `matches no identity: ${known.rule}`;
  // Whether the part before the first star begins as an identity may begin.
  const [head = ''] = glob.split('*');
  if (head.length < glob.length && BEGINNINGS.some((one) => one.startsWith(head))) return undefined;
  return `matches no identity: identities begin with ${BEGINNINGS.map((one) => `"${one}"`).join(', ')}`;
}

/** Tells whether a glob of a policy matches an identity. */
export type IdentityGlob = (identity: string) => boolean;

/**
 * Compiles a glob. `*` stands for any number of characters except `/`. All other characters stand for themselves. The
 * parts between two stars are looked for from left to right, so no pattern makes the search start again.
 */
export function identityGlob(glob: string): IdentityGlob {
  if (!glob.includes('*')) return (identity) => identity === glob;
  const segments = glob.split('/').map(segmentMatcher);
  return (identity) => {
    let start = 0;
    for (const [index, matches] of segments.entries()) {
      const slash = identity.indexOf('/', start);
      const isLast = index === segments.length - 1;
      if (isLast !== (slash === -1)) return false;
      if (!matches(identity.slice(start, isLast ? undefined : slash))) return false;
      start = slash + 1;
    }
    return true;
  };
}

function segmentMatcher(glob: string): IdentityGlob {
  const [head = '', ...rest] = glob.split('*');
  const tail = rest.pop();
  if (tail === undefined) return (text) => text === head;
  return (text) => {
    if (!text.startsWith(head) || !text.endsWith(tail)) return false;
    const end = text.length - tail.length;
    let from = head.length;
    for (const part of rest) {
      const found = text.indexOf(part, from);
      if (found === -1) return false;
      from = found + part.length;
    }
    return from <= end;
  };
}
