import { apiWords } from '../strings/api';

const words = apiWords.signature;
const encoder = new TextEncoder();

const hex = (bytes: ArrayBuffer): string =>
  [...new Uint8Array(bytes)].map((one) => one.toString(16).padStart(2, '0')).join('');
const base64 = (bytes: ArrayBuffer): string => btoa(String.fromCharCode(...new Uint8Array(bytes)));

async function hmac(key: string, bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', encoder.encode(key), algorithm, false, ['sign']);
  return crypto.subtle.sign('HMAC', imported, bytes);
}

export interface SignatureInput {
  readonly key: string;
  readonly id: string;
  readonly timestamp: string;
  /** Text stands for its bytes in UTF-8. */
  readonly body: string | Uint8Array;
}

interface Signatures {
  readonly simple: string;
  readonly standard: string;
}

/** Both signatures; without id and time there is no second one. */
export async function sign({ key, id, timestamp, body }: SignatureInput): Promise<Signatures> {
  const bytes = typeof body === 'string' ? encoder.encode(body) : new Uint8Array(body);
  const simple = hex(await hmac(key, bytes));
  if (id === '' || timestamp === '') return { simple, standard: '' };
  const begin = encoder.encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(begin.length + bytes.length);
  signed.set(begin);
  signed.set(bytes, begin.length);
  return { simple, standard: `v1,${base64(await hmac(key, signed))}` };
}

/**
 * What a received header, which may hold several signatures, has: one of the right ones, the right one in capital hex
 * digits (a comparison of strings fails), or none.
 */
export function judge(
  received: string,
  { simple, standard }: Signatures,
): 'matches' | 'capitals' | 'differs' {
  const all = received.trim().split(/\s+/);
  if (all.some((one) => one === simple || (standard !== '' && one === standard))) return 'matches';
  return all.some((one) => one.toLowerCase() === simple) ? 'capitals' : 'differs';
}

/** Far more than a callback has. */
const mostBytes = 16 * 1024 * 1024;

/** The chosen file's own bytes, else those of the text; undefined where the file cannot be read. */
async function bodyOf(form: HTMLFormElement): Promise<Uint8Array | undefined> {
  const file = fileField(form)?.files?.[0];
  if (!file) return encoder.encode(field(form, 'body')?.value ?? '');
  if (file.size > mostBytes) return undefined;
  return file.arrayBuffer().then(
    (bytes) => new Uint8Array(bytes),
    () => undefined,
  );
}

const field = (form: HTMLFormElement, name: string) =>
  form.elements.namedItem(name) as HTMLInputElement | HTMLTextAreaElement | null;
const fileField = (form: HTMLFormElement) => form.elements.namedItem('file') as HTMLInputElement | null;
const turns = new WeakMap<HTMLFormElement, number>();

async function calculate(form: HTMLFormElement): Promise<void> {
  const turn = (turns.get(form) ?? 0) + 1;
  turns.set(form, turn);
  const read = (name: string) => field(form, name)?.value ?? '';
  const input = {
    key: read('key').trim(),
    id: read('id').trim(),
    timestamp: read('timestamp').trim(),
  };
  const say = form.querySelector<HTMLElement>('[data-signature-say]');
  const values = form.querySelector<HTMLElement>('.api-signature__values');
  if (!say || !values) return;
  const show = (text: string, state: string) => {
    say.textContent = text;
    say.dataset['state'] = state;
  };
  values.hidden = true;
  if (input.key === '') return show(words.empty, 'empty');
  if (!globalThis.crypto?.subtle) return show(words.unavailable, 'unavailable');
  const body = await bodyOf(form);
  const result = body && (await sign({ ...input, body }));
  // A later input is being calculated: its result counts.
  if (turns.get(form) !== turn) return;
  if (!result) return show(words.unreadable, 'unreadable');
  for (const name of ['simple', 'standard'] as const) {
    const element = form.querySelector(`[data-signature-${name}]`);
    if (element) element.textContent = result[name] || '—';
  }
  values.hidden = false;
  const missing = [
    ...(input.id === '' ? [words.id] : []),
    ...(input.timestamp === '' ? [words.timestamp] : []),
  ];
  const received = read('received');
  const verdict = judge(received, result);
  if (received.trim() === '') show(words.result(body.length), 'done');
  else if (verdict !== 'differs') show(words[verdict], verdict);
  else if (missing.length > 0 && /\bv1,/.test(received)) show(words.missing(missing.join(' と ')), 'missing');
  else show(words.differs, 'differs');
}

function fillVector(form: HTMLFormElement): void {
  const vector = JSON.parse(form.dataset['vector'] ?? '{}') as Record<string, string>;
  for (const [name, value] of Object.entries(vector)) {
    const element = field(form, name);
    if (element) element.value = value;
  }
  keepOneBody(form, 'body');
}

/** Text or file: what was given last counts, and the other is empty. */
function keepOneBody(form: HTMLFormElement, given: 'body' | 'file'): void {
  const other = given === 'body' ? fileField(form) : field(form, 'body');
  if (other) other.value = '';
}

/** The signature calculator: WebCrypto in the page; nothing is sent or kept. */
export function startSignature(): void {
  const formOf = (event: Event) =>
    event.target instanceof Element ? event.target.closest<HTMLFormElement>('form[data-signature]') : null;
  document.addEventListener('input', (event) => {
    const form = formOf(event);
    if (!form) return;
    const { name } = event.target as HTMLInputElement;
    if (name === 'body' || name === 'file') keepOneBody(form, name);
    void calculate(form);
  });
  document.addEventListener('submit', (event) => {
    if (formOf(event)) event.preventDefault();
  });
  document.addEventListener('click', (event) => {
    const form = formOf(event);
    if (!form || !(event.target as Element).closest('[data-signature-use]')) return;
    fillVector(form);
    void calculate(form);
  });
  // The fields are emptied after the event.
  document.addEventListener('reset', (event) => {
    const form = formOf(event);
    if (form) setTimeout(() => void calculate(form));
  });
}
