/** The commands of the driver protocol, and their fields. README.md describes them. */

const LEASE = ['client', 'lease', 'name', 'ttl_ms', 'metadata', 'max_hold_ms'];
const CONNECT = [
  ...['client', 'addresses', 'connect_ms', 'holder_id', 'metadata', 'token', 'tokens'],
  ...['token_expires_in_ms', 'token_file', 'tls'],
];

export const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  connect: CONNECT,
  lock: [...LEASE, 'wait_ms', 'mode'],
  try_lock: [...LEASE, 'mode'],
  permits: [...LEASE, 'wait_ms', 'permits', 'limit', 'exact_limit'],
  try_permits: [...LEASE, 'permits', 'limit', 'exact_limit'],
  check: ['lease'],
  release: ['lease'],
  update: ['lease', 'metadata'],
  update_value: ['lease', 'value'],
  with_lock: ['client', 'name', 'ttl_ms', 'wait_ms', 'max_hold_ms', 'ignore_cancel'],
  end_work: ['of', 'fail'],
  cancel: ['of'],
  campaign: ['client', 'lease', 'election', 'value', 'ttl_ms'],
  leader: ['client', 'election'],
  observe: ['client', 'election'],
  add_recent: ['client', 'list', 'text', 'entry_id'],
  suggest_recents: ['client', 'list', 'query', 'limit'],
  create_dictionary: ['client', 'dictionary'],
  put: ['client', 'dictionary', 'entries'],
  import: ['client', 'dictionary', 'entries'],
  suggest: ['client', 'dictionary', 'query', 'limit'],
  suggest_all: ['client', 'dictionary', 'query', 'page_size'],
  record_selection: ['client', 'dictionary', 'entry_id'],
  delete_dictionary: ['client', 'dictionary'],
  type_ahead: ['client', 'dictionary', 'as', 'debounce_ms'],
  type: ['as', 'query'],
  server_info: ['client'],
  fork: ['lease'],
  close: ['client'],
  leaks: [],
};

/** The client of a command that names none. */
export const DEFAULT_CLIENT = 'c';
