import { ja } from '../strings/ja';
import { onFragment } from './fragments';

const key = 'sample-values';
/** Addresses and ids stay for the tab; a secret stays in this variable only, until the page is left or loaded again. */
const secret = new Set(['clientSecret', 'authenticationKey']);
const given = new Map<string, string>();
const examples = new WeakMap<HTMLElement, string>();

const words = ja.values.problems;

/** Values stand between quotes of a shell, of JavaScript and of Python: none of these may end or change them. */
const unsafe = /['"`\\$\p{Cc}\p{Zl}\p{Zp}]/u;

/** A base of other addresses, or an address that is called as it is. Neither holds what only one call would need. */
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
  // As a part of a path, `.` and `..` lead to another call.
  applicationId: matching(/^(?!\.{1,2}$)[\w.-]{1,128}$/, words.id),
  // HTTP Basic ends the client ID at the first colon.
  clientId: matching(/^[!-9;-~]+$/, words.client),
  // A bytes literal of Python and `btoa` take no other characters.
  clientSecret: matching(/^[!-~]+$/, words.secret),
};

/** Reasons that no further character takes away. */
const final: readonly string[] = [words.characters, words.urlUser, words.urlRest];

/** Why a value cannot stand in the samples; '' when it can. */
export function problemOf(name: string, value: string): string {
  if (unsafe.test(value)) return words.characters;
  return value === '' ? '' : (forms[name]?.(value) ?? '');
}

/** As the value stands in the samples: paths follow the API's address, which would begin with two slashes. */
export const asShown = (name: string, value: string): string =>
  name === 'apiUrl' ? value.replace(/\/+$/, '') : value;

function keep(): void {
  try {
    const kept = [...given].filter(([name]) => !secret.has(name));
    sessionStorage.setItem(key, JSON.stringify(Object.fromEntries(kept)));
  } catch {
    // Not kept.
  }
}

function restore(): void {
  try {
    const kept = Object.entries(JSON.parse(sessionStorage.getItem(key) ?? '{}') as Record<string, unknown>);
    for (const [name, value] of kept) {
      if (typeof value === 'string' && !secret.has(name) && problemOf(name, value) === '')
        given.set(name, asShown(name, value));
    }
    // What is refused today does not stay either: it may hold a password.
    if (given.size < kept.length) keep();
  } catch {
    // Nothing kept, or not ours.
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
  // No id of the page's own: those of its HTML are anchors that never change.
  place.id = `values-${input.name}`;
  input.setAttribute('aria-describedby', place.id);
  place.textContent = problem;
}

const inputOf = (event: Event): HTMLInputElement | null =>
  event.target instanceof HTMLInputElement && event.target.closest('[data-values]') ? event.target : null;

/** The reader's own values in every sample. Text only: nothing that is typed becomes markup, or code. */
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
    // While a value is being typed it is not yet complete; a wrong character never becomes right.
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
