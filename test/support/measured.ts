/** Prints a measured value, in addition to the assertions of a test. */
export function sayMeasured(what: string): void {
  process.stderr.write(`measured: ${what}\n`);
}
