import type { Log } from '../grpc/log';
import { readCertificates } from './pem';
import { DAY_MS, msUntil, readCertificateTime, showTimeOfDay } from './time-of-day';
import { UnusableFile } from './watched-files';

/** What a server uses a certificate for. */
export type CertificateUse = 'server' | 'client-authority' | 'redis-authority' | 'redis-client';

/** The certificates in use of one setting. */
export interface CertificatesInUse {
  readonly use: CertificateUse;
  /** The name of the setting, for messages. */
  readonly setting: string;
  /** The earliest end of the certificates of the file: a chain or a list of authorities may have several. */
  readonly endsAtMs: number;
}

/** How long before its end a certificate is reported, once a day. */
const WARNING_MS = 14 * DAY_MS;
const CHECK_MS = 3_600_000;

/** The ends of all certificates that a server uses, for metrics. Warns before the end of a certificate, once a day. */
export class CertificateEnds {
  private readonly inUse = new Map<CertificateUse, CertificatesInUse>();
  private readonly warnedAt = new Map<CertificateUse, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly log: Log) {}

  /** Replaces the certificates of the same use. */
  set(certificates: CertificatesInUse): void {
    this.inUse.set(certificates.use, certificates);
    this.warnBeforeEnd(certificates);
    this.timer ??= setInterval(() => this.check(), CHECK_MS).unref();
  }

  /** Sets the certificates of a file. Throws an UnusableFile. */
  add({ use, setting, pem }: Omit<CertificatesInUse, 'endsAtMs'> & { readonly pem: Buffer }): void {
    this.set(certificatesOf(use, setting, pem));
  }

  all(): Iterable<CertificatesInUse> {
    return this.inUse.values();
  }

  close(): void {
    clearInterval(this.timer);
  }

  private check(): void {
    const now = performance.now();
    for (const certificates of this.inUse.values()) {
      const warnedAt = this.warnedAt.get(certificates.use) ?? -Infinity;
      if (now - warnedAt >= DAY_MS) this.warnBeforeEnd(certificates);
    }
  }

  private warnBeforeEnd({ use, setting, endsAtMs }: CertificatesInUse): void {
    const leftMs = msUntil(endsAtMs);
    if (leftMs > WARNING_MS) return;
    this.warnedAt.set(use, performance.now());
    const fields = { setting, end: showTimeOfDay(endsAtMs) };
    const days = Math.ceil(leftMs / DAY_MS);
    if (leftMs > 0) this.log.warn(fields, `a certificate ends in ${days} ${days === 1 ? 'day' : 'days'}`);
    else this.log.error(fields, 'a certificate has ended');
  }
}

/** The ends of the certificates of a PEM file (ms since 1970), in the order of the file. Throws for a damaged file. */
export function endsOf(pem: Buffer): readonly number[] {
  return readCertificates(pem).map(({ validTo }) => readCertificateTime(validTo));
}

export function earliestEnd(pem: Buffer): number {
  return Math.min(...endsOf(pem));
}

/** The certificates of a file. Throws an UnusableFile. */
export function certificatesOf(use: CertificateUse, setting: string, pem: Buffer): CertificatesInUse {
  try {
    return { use, setting, endsAtMs: earliestEnd(pem) };
  } catch (cause) {
    throw new UnusableFile(`${setting} cannot be used: ${String(cause)}`, { cause });
  }
}
