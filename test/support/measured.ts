/** Prints a measured value that a test does not only assert. */
export function sayMeasured(what: string): void {
  process.stderr.write(`measured: ${what}\n`);
}
