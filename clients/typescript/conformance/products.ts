import type { Entry, LeaderLease, Suggestion } from '..';
import { given, type Fields, type Serve } from './options';
import type { Desk } from './desk';

interface EntryFields {
  readonly entry_id: string;
  readonly text: string;
  readonly weight?: string;
}

function entries(fields: Fields): Entry[] {
  return (fields['entries'] as EntryFields[]).map(({ entry_id: id, text, weight }) => ({
    id,
    text,
    ...(weight !== undefined && { weight: BigInt(weight) }),
  }));
}

function suggested(suggestions: readonly Suggestion[]): object {
  return { suggestions: suggestions.map(({ id, text }) => ({ entry_id: id, text })) };
}

function limitOf(fields: Fields): { limit?: number } {
  const limit = fields['limit'] as number | undefined;
  return limit === undefined ? {} : { limit };
}

const dictionaryOf = (desk: Desk, fields: Fields) =>
  desk.client(fields['client']).dictionary(String(fields['dictionary']));
const recentsOf = (desk: Desk, fields: Fields) =>
  desk.client(fields['client']).recents(String(fields['list']));
const electionOf = (desk: Desk, fields: Fields) =>
  desk.client(fields['client']).election(String(fields['election']));

async function observe(desk: Desk, fields: Fields): Promise<object> {
  const of = Number(fields['id']);
  const signal = desk.cancelSignal(of);
  for await (const leader of electionOf(desk, fields).observe({ signal })) {
    desk.tell({ event: 'leader', of, value: leader?.value ?? null });
  }
  return { cancelled: true };
}

/** Elections, recents and dictionaries. */
export const PRODUCTS: Readonly<Record<string, Serve>> = {
  campaign: async (desk, fields) => {
    const ttl = fields['ttl_ms'] as number | undefined;
    const options = { signal: desk.cancelSignal(fields['id']), ...(ttl !== undefined && { ttl }) };
    const lease = await electionOf(desk, fields).campaign(String(fields['value']), options);
    desk.keep(String(fields['lease']), lease);
    return { granted: { token: String(lease.fencingToken) } };
  },
  leader: async (desk, fields) => {
    const leader = await electionOf(desk, fields).leader();
    return { leader: leader ? { value: leader.value, token: String(leader.fencingToken) } : null };
  },
  observe,
  update_value: async (desk, { lease, value }) => {
    await (desk.lease(lease) as LeaderLease).updateValue(String(value));
    return { updated: true };
  },
  add_recent: async (desk, fields) => {
    const entryId = fields['entry_id'] as string | undefined;
    await recentsOf(desk, fields).add(String(fields['text']), entryId === undefined ? {} : { entryId });
    return { ok: true };
  },
  suggest_recents: async (desk, fields) =>
    suggested(await recentsOf(desk, fields).suggest(String(fields['query']), limitOf(fields))),
  create_dictionary: async (desk, fields) => {
    await dictionaryOf(desk, fields).create();
    return { ok: true };
  },
  put: async (desk, fields) => {
    await dictionaryOf(desk, fields).put(entries(fields));
    return { ok: true };
  },
  import: async (desk, fields) => {
    await dictionaryOf(desk, fields).import(entries(fields));
    return { ok: true };
  },
  suggest: async (desk, fields) =>
    suggested(await dictionaryOf(desk, fields).suggest(String(fields['query']), limitOf(fields))),
  suggest_all: async (desk, fields) => {
    const options = given({ pageSize: fields['page_size'] });
    const suggestions: Suggestion[] = [];
    for await (const one of dictionaryOf(desk, fields).suggestAll(String(fields['query']), options)) {
      suggestions.push(one);
    }
    return suggested(suggestions);
  },
  record_selection: async (desk, fields) => {
    await dictionaryOf(desk, fields).recordSelection(String(fields['entry_id']));
    return { ok: true };
  },
  delete_dictionary: async (desk, fields) => {
    await dictionaryOf(desk, fields).delete();
    return { ok: true };
  },
  type_ahead: (desk, fields) => {
    const debounce = fields['debounce_ms'] as number | undefined;
    const input = dictionaryOf(desk, fields).typeAhead(debounce === undefined ? {} : { debounce });
    desk.inputs.set(String(fields['as']), input);
    return Promise.resolve({ opened: true });
  },
  type: async (desk, fields) => {
    const suggestions = await desk.inputs.get(String(fields['as']))?.type(String(fields['query']));
    return suggestions === undefined ? { superseded: true } : suggested(suggestions);
  },
};
