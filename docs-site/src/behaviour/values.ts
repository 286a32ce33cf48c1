import { ja } from '../strings/ja';
import { onFragment } from './fragments';

const key = 'sample-values';
/** Names of secrets. Secrets stay in memory until the page is left or reloaded; other values in the session storage. */
const secret = new Set(['clientSecret', 'authenticationKey']);
const given = new Map<string, string>();
const examples = new WeakMap<HTMLElement, string>();

const words = ja.values.problems;

/** Characters that would end or change a quoted string in a shell, JavaScript or Python. */
const unsafe = /['"`\\$\p{Cc}\p{Zl}\p{Zp}]/u;

/** Checks an address. It must have no query and no hash, because paths are appended or it is called without changes. */
function urlProblem(value: string): string {
  if (!/^https?:\/\/(?!\/)[!-~]+$/i.test(value)) return words.url;
  if (/^\w+:\/\/[^/?#]*@/.test(value)) return words.urlUser;
  if (/[?#]/.test(value)) return words.urlRest;
  return URL.canParse(value) ? '' : words.url;
}
const matching = (form: RegExp, problem: string) => (value: string) => (form.test(value) ? '' : problem);

const forms: Readonly<Record<string, (value: string) => string>> = {
  apiUrl: urlProblem,
  tokenUrl: urlProblem,
  integratorUrl: urlProblem,
  deviceId: matching(/^\d{15}$/, words.imei),
  // The path segments `.` and `..` would change the called path.
  applicationId: matching(/^(?!\.{1,2}$)[\w.-]{1,128}$/, words.id),
  // HTTP Basic: the client ID ends at the first colon.
  clientId: matching(/^[!-9;-~]+$/, words.client),
  // Python's bytes literals and `btoa` accept no other characters.
  clientSecret: matching(/^[!-~]+$/, words.secret),
};

/** Problems that further typing cannot solve. They are shown while the reader types. */
const final: readonly string[] = [words.characters, words.urlUser, words.urlRest];

/** Returns why a value cannot be used in the samples; '' if it can. */
export function problemOf(name: string, value: string): string {
  if (unsafe.test(value)) return words.characters;
  return value === '' ? '' : (forms[name]?.(value) ?? '');
}

/** Value as used in the samples. Removes slashes at the end of the API's address, because paths are appended. */
export const asShown = (name: string, value: string): string =>
  name === 'apiUrl' ? value.replace(/\/+$/, '') : value;

function keep(): void {
  try {
    const kept = [...given].filter(([name]) => !secret.has(name));
    sessionStorage.setItem(key, JSON.stringify(Object.fromEntries(kept)));
  } catch {
    // Session storage is not available: the value holds for this page only.
  }
}

function restore(): void {
  try {
    const kept = Object.entries(JSON.parse(sessionStorage.getItem(key) ?? '{}') as Record<string, unknown>);
    for (const [name, value] of kept) {
      if (typeof value === 'string' && !secret.has(name) && problemOf(name, value) === '')
        given.set(name, asShown(name, value));
    }
    // Also deletes stored values that are now invalid: they may contain a password.
    if (given.size < kept.length) keep();
  } catch {
    // No stored values, or values in an unknown format.
  }
}

function show(root: ParentNode): void {
  for (const span of root.querySelectorAll<HTMLElement>('[data-value]')) {
    const example = examples.get(span) ?? span.textContent ?? '';
    examples.set(span, example);
    span.textContent = given.get(span.dataset['value'] ?? '') || example;
  }
}

function fillForms(root: ParentNode): void {
  for (const input of root.querySelectorAll<HTMLInputElement>('[data-values] input'))
    input.value = given.get(input.name) ?? '';
}

function say(input: HTMLInputElement, problem: string): void {
  if (problem) input.setAttribute('aria-invalid', 'true');
  else input.removeAttribute('aria-invalid');
  const place = input.closest('.values__field')?.querySelector('.values__problem');
  if (!place) return;
  // The build sets no id here, because ids in the HTML are published anchors.
  place.id = `values-${input.name}`;
  input.setAttribute('aria-describedby', place.id);
  place.textContent = problem;
}

const inputOf = (event: Event): HTMLInputElement | null =>
  event.target instanceof HTMLInputElement && event.target.closest('[data-values]') ? event.target : null;

/** Starts the values form and shows the reader values in every sample. Sets text only, never HTML. */
export function startValues(): void {
  restore();
  onFragment((root) => {
    show(root);
    fillForms(root);
  });
  document.addEventListener('input', (event) => {
    const input = inputOf(event);
    if (!input) return;
    const value = input.value.trim();
    const problem = problemOf(input.name, value);
    // The value is incomplete while it is typed: shows only problems that further typing cannot solve.
    if (problem === '' || final.includes(problem)) say(input, problem);
    if (value === '' || problem !== '') given.delete(input.name);
    else given.set(input.name, asShown(input.name, value));
    keep();
    show(document);
  });
  document.addEventListener('change', (event) => {
    const input = inputOf(event);
    if (input) say(input, problemOf(input.name, input.value.trim()));
  });
  document.addEventListener('reset', (event) => {
    const form = (event.target as Element | null)?.closest('[data-values]');
    if (!form) return;
    given.clear();
    keep();
    show(document);
    for (const input of form.querySelectorAll('input')) say(input, '');
  });
  document.addEventListener('submit', (event) => {
    if ((event.target as Element | null)?.closest('[data-values]')) event.preventDefault();
  });
}
