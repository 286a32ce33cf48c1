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
  /** A string is encoded as UTF-8. */
  readonly body: string | Uint8Array;
}

interface Signatures {
  readonly simple: string;
  readonly standard: string;
}

/** Computes both signatures. `standard` is '' without id or timestamp. */
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
 * Compares a received header, which may contain several signatures, with the computed ones. `capitals`: the signature
 * is correct, but its hex digits are upper case, so that a comparison of strings fails.
 */
export function compareSignatures(
  received: string,
  { simple, standard }: Signatures,
): 'matches' | 'capitals' | 'differs' {
  const all = received.trim().split(/\s+/);
  if (all.some((one) => one === simple || (standard !== '' && one === standard))) return 'matches';
  return all.some((one) => one.toLowerCase() === simple) ? 'capitals' : 'differs';
}

/** Maximum size of a file; far more than a callback's body has. */
const maxBytes = 16 * 1024 * 1024;

/** Bytes of the chosen file, otherwise of the text; undefined if the file cannot be read. */
async function bodyOf(form: HTMLFormElement): Promise<Uint8Array | undefined> {
  const file = fileField(form)?.files?.[0];
  if (!file) return encoder.encode(field(form, 'body')?.value ?? '');
  if (file.size > maxBytes) return undefined;
  return file.arrayBuffer().then(
    (bytes) => new Uint8Array(bytes),
    () => undefined,
  );
}

const field = (form: HTMLFormElement, name: string) =>
  form.elements.namedItem(name) as HTMLInputElement | HTMLTextAreaElement | null;
const fileField = (form: HTMLFormElement) => form.elements.namedItem('file') as HTMLInputElement | null;
/** Number of the latest calculation of each form. */
const calculations = new WeakMap<HTMLFormElement, number>();

async function calculate(form: HTMLFormElement): Promise<void> {
  const calculation = (calculations.get(form) ?? 0) + 1;
  calculations.set(form, calculation);
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
  // Drops the result if a later calculation has started.
  if (calculations.get(form) !== calculation) return;
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
  const comparison = compareSignatures(received, result);
  if (received.trim() === '') show(words.result(body.length), 'done');
  else if (comparison !== 'differs') show(words[comparison], comparison);
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

/** Empties the other field: either the text or the file is the body. */
function keepOneBody(form: HTMLFormElement, given: 'body' | 'file'): void {
  const other = given === 'body' ? fileField(form) : field(form, 'body');
  if (other) other.value = '';
}

/** Starts the signature calculator. It uses WebCrypto in the page, and sends and stores nothing. */
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
  // The browser resets the fields after the event.
  document.addEventListener('reset', (event) => {
    const form = formOf(event);
    if (form) setTimeout(() => void calculate(form));
  });
}
