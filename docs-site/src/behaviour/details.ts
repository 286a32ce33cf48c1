import { onFragment } from './fragments';

/** Opens all `<details>` around the element. Returns whether one was closed. */
function reveal(element: Element): boolean {
  let opened = false;
  for (let box = element.closest('details'); box; box = box.parentElement?.closest('details') ?? null) {
    if (!box.open) opened = true;
    box.open = true;
  }
  return opened;
}

function followHash(): void {
  let id: string;
  try {
    id = decodeURIComponent(window.location.hash.slice(1));
  } catch {
    return;
  }
  const element = id === '' ? null : document.getElementById(id);
  if (element && reveal(element)) element.scrollIntoView();
}

/** Opens closed details when the hash points into them. The expand button opens or closes all details in its section. */
export function startDetails(): void {
  onFragment(() => followHash());
  window.addEventListener('hashchange', followHash);
  document.addEventListener('click', (event) => {
    const target = event.target as Element | null;
    const link = target?.closest<HTMLAnchorElement>('a[href^="#"]');
    // The browser sends no hashchange event if the hash is already in the address.
    if (link && link.hash === window.location.hash) followHash();
    const button = target?.closest<HTMLElement>('[data-expand]');
    if (!button) return;
    const open = button.getAttribute('aria-pressed') !== 'true';
    button.setAttribute('aria-pressed', String(open));
    const scope = button.closest(button.dataset['expand'] || 'section');
    for (const box of scope?.querySelectorAll('details') ?? []) box.open = open;
  });
}
