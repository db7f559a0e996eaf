import type { Log } from '../base/log';
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
/** The wall clock may be set, so the time until an end is computed again at this interval. */
const CHECK_MS = 3_600_000;

interface Report {
  readonly at: number;
  readonly hasEnded: boolean;
}

/**
 * The ends of all certificates that a server uses, for metrics. Warns before the end of a certificate, once a day, and
 * reports the end itself when it comes.
 */
export class CertificateEnds {
  private readonly inUse = new Map<CertificateUse, CertificatesInUse>();
  private readonly reports = new Map<CertificateUse, Report>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly log: Log) {}

  /** Replaces the certificates of the same use. */
  set(certificates: CertificatesInUse): void {
    this.inUse.set(certificates.use, certificates);
    this.reports.delete(certificates.use);
    this.check();
  }

  /** Sets the certificates of a file. Throws an UnusableFile. */
  add({ use, setting, pem }: Omit<CertificatesInUse, 'endsAtMs'> & { readonly pem: Buffer }): void {
    this.set(certificatesOf(use, setting, pem));
  }

  all(): Iterable<CertificatesInUse> {
    return this.inUse.values();
  }

  close(): void {
    clearTimeout(this.timer);
  }

  private check(): void {
    clearTimeout(this.timer);
    let nextMs = CHECK_MS;
    for (const certificates of this.inUse.values()) {
      const leftMs = msUntil(certificates.endsAtMs);
      if (leftMs <= WARNING_MS) this.report(certificates, leftMs);
      if (leftMs > 0) nextMs = Math.min(nextMs, leftMs);
    }
    this.timer = setTimeout(() => this.check(), Math.max(1, nextMs)).unref();
  }

  private report({ use, setting, endsAtMs }: CertificatesInUse, leftMs: number): void {
    const now = performance.now();
    const hasEnded = leftMs <= 0;
    const last = this.reports.get(use);
    if (last?.hasEnded === hasEnded && now - last.at < DAY_MS) return;
    this.reports.set(use, { at: now, hasEnded });
    const fields = { setting, end: showTimeOfDay(endsAtMs) };
    const days = Math.ceil(leftMs / DAY_MS);
    if (hasEnded) this.log.error(fields, 'a certificate has ended');
    else this.log.warn(fields, `a certificate ends in ${days} ${days === 1 ? 'day' : 'days'}`);
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
