/** Says that something could not be looked at on this machine. A test that was passed over must not look passed. */
export function sayNotChecked(what: string, why: string): void {
  process.stderr.write(`not checked: ${what}: ${why}\n`);
}
