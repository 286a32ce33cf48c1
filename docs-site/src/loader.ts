import { ja } from './strings/ja';
import { loadFragment } from './theme/Fragment/store';
import { setLoading } from './theme/Loading';
import type { DocumentPage } from './types';

interface PageResources {
  readonly status?: string;
  readonly json?: { readonly pageContext?: Partial<DocumentPage> };
}

interface Loader {
  loadPage(path: string): Promise<PageResources | undefined>;
  hovering(path: string): void;
}

const failedKey = 'site.load-failed';

const session = {
  get: (): string | null => {
    try {
      return sessionStorage.getItem(failedKey);
    } catch {
      // Without session storage, reloads could loop: counts as the second failure.
      return window.location.href;
    }
  },
  set: (value: string | null): void => {
    try {
      if (value === null) sessionStorage.removeItem(failedKey);
      else sessionStorage.setItem(failedKey, value);
    } catch {
      // `get` handles missing storage.
    }
  },
};

/** Whether pages may be prefetched: not on slow connections and not in data-saver mode. */
function mayPrefetch(): boolean {
  const { connection } = navigator as { connection?: { effectiveType?: string; saveData?: boolean } };
  return !(connection?.saveData || connection?.effectiveType?.includes('2g'));
}

/** Number of the latest navigation. A click and Back cancel earlier navigations. */
let latest = 0;
let pending = false;

/** Whether a navigation is in progress. */
export const isNavigating = (): boolean => pending;

const forever = new Promise<never>(() => undefined);

const clearNotice = () => document.querySelector('.load-failure')?.remove();

function button(text: string, english: string, plain: boolean, clicked: () => void): HTMLButtonElement {
  const element = document.createElement('button');
  element.type = 'button';
  element.className = plain ? 'button button--plain' : 'button';
  element.textContent = text;
  if (english) element.append(' ', inEnglish(english));
  element.addEventListener('click', clicked);
  return element;
}

function inEnglish(text: string): HTMLElement {
  const element = document.createElement('span');
  element.lang = 'en';
  element.textContent = `(${text})`;
  return element;
}

/** Shows a notice above the page. Uses plain DOM, because React may not be loaded. */
function showNotice(target: string): void {
  clearNotice();
  const box = document.createElement('section');
  box.className = 'load-failure';
  box.setAttribute('role', 'alert');
  const text = document.createElement('p');
  const title = document.createElement('strong');
  title.append(ja.error.title, ' ', inEnglish(ja.error.titleEnglish));
  text.append(title, document.createElement('br'), ja.error.load);
  const retry = button(ja.error.retry, ja.error.retryEnglish, false, () => void tryAgain(target, retry));
  box.append(text, retry, button(ja.bar.close, '', true, clearNotice));
  document.body.prepend(box);
  retry.focus({ preventScroll: true });
}

/** Whether the server sends any response. */
async function isReachable(target: string): Promise<boolean> {
  try {
    await fetch(target, { method: 'HEAD', cache: 'no-store' });
    return true;
  } catch {
    return false;
  }
}

function loadWhole(target: string): void {
  if (target === window.location.href) window.location.reload();
  else window.location.assign(target);
}

async function tryAgain(target: string, pressed: HTMLButtonElement): Promise<void> {
  pressed.disabled = true;
  if (!(await isReachable(target))) return showNotice(target);
  session.set(null);
  loadWhole(target);
}

/**
 * Handles a page that cannot be loaded: logs one warning and starts a full page load. If that also fails, or the
 * server cannot be reached, the reader stays on the current page and gets a Retry button.
 */
async function failed(target: string, navigation: number): Promise<void> {
  const isReached = await isReachable(target);
  if (navigation !== latest) return;
  pending = false;
  setLoading(false);
  if (session.get() === target) return showNotice(target);
  const next = isReached ? 'it is loaded again as a whole' : 'the server cannot be reached';
  // biome-ignore lint/suspicious/noConsole: the specification requires a logged warning
  console.warn(`The page ${target} could not be loaded; ${next}.`);
  if (!isReached) return showNotice(target);
  session.set(target);
  loadWhole(target);
}

/** Makes a navigation wait for the fragment of its page. A navigation that a later one has replaced never resolves. */
export function watchLoader(): void {
  const loader = (window as unknown as { ___loader: Loader }).___loader;
  const loadPage = loader.loadPage.bind(loader);
  const hovering = loader.hovering.bind(loader);
  let isFirst = true;
  let from = '';

  loader.loadPage = async (path) => {
    const isInitial = isFirst;
    isFirst = false;
    latest++;
    const navigation = latest;
    from = window.location.pathname;
    pending = true;
    // The initial page is always needed: React waits for it.
    const isReplaced = () => !isInitial && navigation !== latest;
    const target = isInitial ? window.location.href : new URL(path, window.location.origin).href;
    try {
      const resources = await loadPage(path);
      if (!resources || resources.status === 'error') throw new Error(`no resources for ${path}`);
      const fragment = resources.json?.pageContext?.fragment;
      // On the first visit, the fragment is in the HTML.
      if (fragment && !isInitial) await loadFragment(fragment);
      if (isReplaced()) return forever;
      if (navigation === latest) pending = false;
      session.set(null);
      clearNotice();
      return resources;
    } catch {
      if (!isReplaced()) void failed(target, navigation);
      return forever;
    }
  };
  // Back to a loaded page does not call the loader, so it cancels here. The history entry of a menu has the same path.
  window.addEventListener('popstate', () => {
    if (!pending || window.location.pathname === from) return;
    latest++;
    pending = false;
    setLoading(false);
  });
  loader.hovering = (path) => {
    if (mayPrefetch()) hovering(path);
  };
}
