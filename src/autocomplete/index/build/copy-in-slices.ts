import type { WorkMeter } from '../work-meter';

/** 256 KiB are copied within 0.1 ms. */
const SLICE_LENGTH = 1 << 16;
/** A copied number costs much less than a step of a work meter. */
const NUMBERS_OF_A_STEP = 8;

/** Copies a long array. Both arrays have the same length. */
export function copyInSlices(from: Uint32Array, to: Uint32Array, meter: WorkMeter): void {
  for (let start = 0; start < from.length; start += SLICE_LENGTH) {
    const slice = from.subarray(start, start + SLICE_LENGTH);
    to.set(slice, start);
    meter.spend(slice.length / NUMBERS_OF_A_STEP);
  }
}
