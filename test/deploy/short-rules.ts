import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/root';

/** The alerts as they ship. */
export function shippedRules(): string {
  return readFileSync(join(ROOT, 'deploy/prometheus/alerts.yaml'), 'utf8');
}

/**
 * The shipped alerts with shorter times, so that a test takes minutes instead of hours: each window (`[5m]`) is 10 s, and
 * each duration (`for: 5m`) is 2 s. Nothing else changes, so bounds and labels are those that ship. Such a rule is
 * stricter than the shipped rule about the time that a fault lasts.
 */
export function shortRules(): string {
  return shippedRules()
    .replaceAll(/\[\d+m\]/g, '[10s]')
    .replaceAll(/for: \d+m/g, 'for: 2s');
}
