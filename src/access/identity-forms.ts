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
