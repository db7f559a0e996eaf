import { tableLine, type Figure } from './figures';

/** A system that Holdfast is compared with. */
export interface Yardstick<Ability extends string> {
  readonly title: string;
  readonly abilities: Abilities<Ability>;
}

/** What a system can do, in words for a table. "yes" stands for the whole ability. */
export type Abilities<Ability extends string> = Readonly<Record<Ability, string>>;

/** The reason why this machine lacks a system, or a part of the system. */
export interface Missing {
  readonly missing: string;
}

interface Running {
  end(): Promise<void> | void;
}

/** Systems, or their parts, each of which starts when it is first needed. */
export class StartedOnce<Name extends string, R extends Running> {
  private readonly started = new Map<Name, Promise<R | Missing>>();

  constructor(private readonly start: (name: Name) => Promise<R | Missing>) {}

  get(name: Name): Promise<R | Missing> {
    const started = this.started.get(name) ?? this.start(name);
    this.started.set(name, started);
    return started;
  }

  /** The systems that this machine has. `say` tells the reason why this machine lacks others. */
  async all(
    yardsticks: Readonly<Record<Name, Yardstick<string>>>,
    names: readonly Name[],
    say: (text: string) => void,
  ): Promise<R[]> {
    const found: R[] = [];
    for (const name of names) {
      const isNew = !this.started.has(name);
      const started = await this.get(name);
      if (!('missing' in started)) found.push(started);
      else if (isNew) say(`${yardsticks[name].title} is not measured: ${started.missing}`);
    }
    return found;
  }

  async end(): Promise<void> {
    for (const starting of this.started.values()) {
      const started = await starting.catch(() => undefined);
      if (started && !('missing' in started)) await started.end();
    }
  }
}

/** A line of the table of abilities. */
export function abilityLine<Ability extends string>(
  table: string,
  { title, abilities }: Yardstick<Ability>,
  version: string,
): Figure[] {
  return tableLine(table, title, { version, ...abilities });
}
