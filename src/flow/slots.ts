import { HoldfastError } from '../base/errors';

/** Bounds the work that is in progress, for each connection and for all together. */
export class Slots {
  private count = 0;
  private readonly ofConnection = new WeakMap<object, number>();

  constructor(
    private readonly max: number,
    private readonly maxOfConnection: number,
  ) {}

  /** Rejects with OVERLOADED, and does not begin, above a bound. */
  async use<T>(connection: object, work: () => Promise<T>): Promise<T> {
    const count = this.ofConnection.get(connection) ?? 0;
    if (this.count >= this.max || count >= this.maxOfConnection) {
      throw new HoldfastError(
        'OVERLOADED',
        'this server checks too many new credentials at present: nothing was done; try again later',
      );
    }
    this.change(connection, 1);
    try {
      return await work();
    } finally {
      this.change(connection, -1);
    }
  }

  private change(connection: object, by: 1 | -1): void {
    this.count += by;
    this.ofConnection.set(connection, (this.ofConnection.get(connection) ?? 0) + by);
  }
}
