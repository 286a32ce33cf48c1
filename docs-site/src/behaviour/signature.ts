import { apiWords } from '../strings/api';

const words = apiWords.signature;
const encoder = new TextEncoder();

const hex = (bytes: ArrayBuffer): string =>
  [...new Uint8Array(bytes)].map((one) => one.toString(16).padStart(2, '0')).join('');
const base64 = (bytes: ArrayBuffer): string => btoa(String.fromCharCode(...new Uint8Array(bytes)));

async function hmac(key: string, text: string): Promise<ArrayBuffer> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', encoder.encode(key), algorithm, false, ['sign']);
  return crypto.subtle.sign('HMAC', imported, encoder.encode(text));
}

export interface SignatureInput {
  readonly key: string;
  readonly id: string;
  readonly timestamp: string;
  readonly body: string;
}

/** Both signatures; without id and time there is no second one. */
export async function sign({
  key,
  id,
  timestamp,
  body,
}: SignatureInput): Promise<{ simple: string; standard: string }> {
  const simple = hex(await hmac(key, body));
  if (id === '' || timestamp === '') return { simple, standard: '' };
  return { simple, standard: `v1,${base64(await hmac(key, `${id}.${timestamp}.${body}`))}` };
}

/** Whether a received header, which may hold several signatures, has one of the right ones. */
export const isReceived = (
  received: string,
  { simple, standard }: { simple: string; standard: string },
): boolean =>
  received
    .trim()
    .split(/\s+/)
    .some((one) => one === simple || (standard !== '' && one === standard));

const field = (form: HTMLFormElement, name: string) =>
  form.elements.namedItem(name) as HTMLInputElement | HTMLTextAreaElement | null;
const turns = new WeakMap<HTMLFormElement, number>();

async function calculate(form: HTMLFormElement): Promise<void> {
  const turn = (turns.get(form) ?? 0) + 1;
  turns.set(form, turn);
  const read = (name: string) => field(form, name)?.value ?? '';
  const input = {
    key: read('key').trim(),
    id: read('id').trim(),
    timestamp: read('timestamp').trim(),
    body: read('body'),
  };
  const say = form.querySelector<HTMLElement>('[data-signature-say]');
  const values = form.querySelector<HTMLElement>('.api-signature__values');
  if (!say || !values) return;
  const show = (text: string, state: string) => {
    say.textContent = text;
    say.dataset['state'] = state;
  };
  values.hidden = true;
  if (input.key === '' || input.body === '') return show(words.empty, 'empty');
  if (!globalThis.crypto?.subtle) return show(words.unavailable, 'unavailable');
  const result = await sign(input);
  // A later input is being calculated: its result counts.
  if (turns.get(form) !== turn) return;
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
  if (received.trim() === '') show(words.result, 'done');
  else if (isReceived(received, result)) show(words.matches, 'matches');
  else if (missing.length > 0 && /\bv1,/.test(received)) show(words.missing(missing.join(' と ')), 'missing');
  else show(words.differs, 'differs');
}

function fillVector(form: HTMLFormElement): void {
  const vector = JSON.parse(form.dataset['vector'] ?? '{}') as SignatureInput;
  for (const [name, value] of Object.entries(vector)) {
    const element = field(form, name);
    if (element) element.value = value;
  }
}

/** The signature calculator: WebCrypto in the page; nothing is sent or kept. */
export function startSignature(): void {
  const formOf = (event: Event) =>
    event.target instanceof Element ? event.target.closest<HTMLFormElement>('form[data-signature]') : null;
  document.addEventListener('input', (event) => {
    const form = formOf(event);
    if (form) void calculate(form);
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
