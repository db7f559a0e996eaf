/**
 * The order of work under load. `high`: work on leases that exist (renew, release, claim, touch, withdraw) and epochs.
 * `normal`: new leases and settings. `low`: reads and autocomplete. Work of high priority is never refused for lack of
 * time.
 */
export type Priority = 'high' | 'normal' | 'low';
