/** The machine's monotonic clock (ms). It is the same for all processes, so their times can be compared. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
