import type { Clock } from '../../clock';

/** The work took longer than the caller can wait. The work goes on. */
export class OutOfPatience extends Error {
  override readonly name = 'OutOfPatience';
}

/** Resolves or rejects with the work, or rejects with `OutOfPatience`. */
export async function within<T>(work: Promise<T>, patienceMs: number, clock: Clock): Promise<T> {
  let timer: ReturnType<Clock['after']> | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = clock.after(patienceMs, () => reject(new OutOfPatience(`after ${patienceMs} ms`)));
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    timer?.cancel();
  }
}
