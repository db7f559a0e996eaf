/** `ended`: the validity of the certificates is over. `renewed`: they come from another authority. */
export const CERTIFICATE_KINDS = ['valid', 'ended', 'renewed'] as const;
export type CertificateKind = (typeof CERTIFICATE_KINDS)[number];
