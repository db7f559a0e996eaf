import { rm } from 'node:fs/promises';
import { WallClock } from './wall-clock';
import { makeScratchFolder } from '../../../support/scratch-folder';

/** The wall clocks of a round: a clock for the store, a clock for each server, and a clock for all clients. */
export class Clocks {
  private constructor(
    private readonly folder: string,
    readonly store: WallClock,
    readonly members: readonly WallClock[],
    readonly clients: WallClock,
  ) {}

  static async open(shimPath: string, memberCount: number): Promise<Clocks> {
    const folder = makeScratchFolder('clocks');
    const clock = (name: string) => new WallClock(shimPath, folder, name);
    const members = Array.from({ length: memberCount }, (_, index) => clock(`server-${index}`));
    return new Clocks(folder, clock('store'), members, clock('clients'));
  }

  async close(): Promise<void> {
    for (const clock of [this.store, ...this.members, this.clients]) clock.close();
    await rm(this.folder, { recursive: true });
  }
}
