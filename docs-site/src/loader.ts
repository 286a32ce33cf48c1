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
      // Without a memory a reload could loop: it counts as the second failure.
      return window.location.href;
    }
  },
  set: (value: string | null): void => {
    try {
      if (value === null) sessionStorage.removeItem(failedKey);
      else sessionStorage.setItem(failedKey, value);
    } catch {
      // See get.
    }
  },
};

/** Slow connections and savers of data get no page that they have not asked for. */
function mayPrefetch(): boolean {
  const { connection } = navigator as { connection?: { effectiveType?: string; saveData?: boolean } };
  return !(connection?.saveData || connection?.effectiveType?.includes('2g'));
}

/** The navigation that counts: a click and Back give up those before. */
let latest = 0;
let pending = false;

/** Whether the reader waits for a page. */
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

/** Above the page, which it moves down; plain DOM, since React may not be there. */
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

/** Whether the server answers, whatever it says. */
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
 * Logs one warning when a page cannot be loaded, and loads it as a whole. If that fails as well, or the server cannot
 * be reached, the reader stays on the current page and gets a Retry button.
 */
async function failed(target: string, turn: number): Promise<void> {
  const isReached = await isReachable(target);
  if (turn !== latest) return;
  pending = false;
  setLoading(false);
  if (session.get() === target) return showNotice(target);
  const next = isReached ? 'it is loaded again as a whole' : 'the server cannot be reached';
  // biome-ignore lint/suspicious/noConsole: the specification asks for a logged warning
  console.warn(`The page ${target} could not be loaded; ${next}.`);
  if (!isReached) return showNotice(target);
  session.set(target);
  loadWhole(target);
}

/** Makes a navigation wait for the fragment of its page. One that another has overtaken never ends. */
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
    const turn = latest;
    from = window.location.pathname;
    pending = true;
    // React waits for the first page, whatever the reader does meanwhile.
    const isOvertaken = () => !isInitial && turn !== latest;
    const target = isInitial ? window.location.href : new URL(path, window.location.origin).href;
    try {
      const resources = await loadPage(path);
      if (!resources || resources.status === 'error') throw new Error(`no resources for ${path}`);
      const fragment = resources.json?.pageContext?.fragment;
      // On the first visit the fragment is in the HTML.
      if (fragment && !isInitial) await loadFragment(fragment);
      if (isOvertaken()) return forever;
      if (turn === latest) pending = false;
      session.set(null);
      clearNotice();
      return resources;
    } catch {
      if (!isOvertaken()) void failed(target, turn);
      return forever;
    }
  };
  // Back to a page that is there asks the loader for nothing. A menu's entry in the history leads nowhere else.
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
