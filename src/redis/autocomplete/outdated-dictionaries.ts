import type { Commands } from '../connection/command-runner';
import { dictionaryKey } from '../keys';
import { scripts } from './entry-commands';
import { textOf } from './entry-replies';

/** Dictionaries of the first layout. They can only be deleted. */
export class OutdatedDictionaries {
  constructor(
    private readonly commands: Commands,
    private readonly prefix: string,
  ) {}

  /** 'rest': a deletion has left keys. */
  state(name: string): Promise<'absent' | 'exists' | 'rest'> {
    return this.commands.query('HKEYS', [dictionaryKey(this.prefix, name)], (fields) => {
      if (fields.length === 0) return 'absent';
      return fields.some((field) => textOf(field) === 'live') ? 'exists' : 'rest';
    });
  }

  /** One step of a deletion. True: another step is needed. */
  dropStep(name: string): Promise<boolean> {
    const keys = [dictionaryKey(this.prefix, name)];
    return this.commands.runRaw(scripts.dropOutdated, keys, [], ([word]) => textOf(word) === 'MORE');
  }
}
