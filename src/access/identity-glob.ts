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
