import { onFragment } from './fragments';

const key = 'sample-values';
/** Addresses and ids stay for the tab; a secret stays in this variable only, until the page is left or loaded again. */
const secret = new Set(['clientSecret', 'authenticationKey']);
const given = new Map<string, string>();
const examples = new WeakMap<HTMLElement, string>();

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
    const kept: unknown = JSON.parse(sessionStorage.getItem(key) ?? '{}');
    for (const [name, value] of Object.entries(kept as Record<string, unknown>)) {
      if (typeof value === 'string' && !secret.has(name)) given.set(name, value);
    }
  } catch {
    // Nothing kept, or not ours.
  }
}

function show(root: ParentNode): void {
  for (const span of root.querySelectorAll<HTMLElement>('[data-value]')) {
    const name = span.dataset['value'] ?? '';
    if (!examples.has(span)) examples.set(span, span.dataset['example'] ?? span.textContent ?? '');
    // A fragment that comes back from the store has its example beside the shown value.
    span.dataset['example'] = examples.get(span) ?? '';
    span.textContent = given.get(name) || (examples.get(span) ?? '');
  }
}

function fillForms(root: ParentNode): void {
  for (const input of root.querySelectorAll<HTMLInputElement>('[data-values] input'))
    input.value = given.get(input.name) ?? '';
}

/** The reader's own values in every sample. Text only: nothing that is typed becomes markup. */
export function startValues(): void {
  restore();
  onFragment((root) => {
    show(root);
    fillForms(root);
  });
  document.addEventListener('input', (event) => {
    const input = event.target as HTMLInputElement | null;
    if (!input?.closest('[data-values]')) return;
    const value = input.value.trim();
    if (value === '') given.delete(input.name);
    else given.set(input.name, value);
    keep();
    show(document);
  });
  document.addEventListener('reset', (event) => {
    if (!(event.target as Element | null)?.closest('[data-values]')) return;
    given.clear();
    keep();
    show(document);
  });
  document.addEventListener('submit', (event) => {
    if ((event.target as Element | null)?.closest('[data-values]')) event.preventDefault();
  });
}
