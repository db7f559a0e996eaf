import { COMMON_GROUP } from './layer-memory';
import { isContinuation } from './utf8';
import type { WorkMeter } from './work-meter';

/** The largest number in `common`. */
const MAX_COMMON = 255;

/** Fills `common` and `commonMinima` for the sorted beginnings of forms (layer.ts). */
export function fillCommon(
  forms: Uint8Array,
  beginnings: Uint32Array,
  { common, commonMinima }: { readonly common: Uint8Array; readonly commonMinima: Uint8Array },
  meter: WorkMeter,
): void {
  commonMinima.fill(MAX_COMMON);
  for (let index = 0; index < beginnings.length; index++) {
    const characters =
      index === 0 ? 0 : commonCharacters(forms, beginnings[index - 1] as number, beginnings[index] as number);
    common[index] = characters;
    const group = Math.floor(index / COMMON_GROUP);
    commonMinima[group] = Math.min(commonMinima[group] as number, characters);
    meter.spend(1 + characters);
  }
}

/** The number of characters with which both forms begin, at most 255. */
function commonCharacters(forms: Uint8Array, a: number, b: number): number {
  let characters = 0;
  for (let index = 0; characters < MAX_COMMON;) {
    const byte = forms[a + index] as number;
    if (byte === 0 || byte !== forms[b + index]) break;
    index += 1;
    // The first byte of a character decides its length, so a character ends at the same index in both forms.
    if (!isContinuation(forms[a + index] as number)) characters += 1;
  }
  return characters;
}
