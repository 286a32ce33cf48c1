import { ja } from './strings/ja';
import { loadFragment } from './theme/Fragment/store';
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

/** Shown where the page cannot be loaded even by a full load; plain DOM, since React may not be there. */
function showRetry(target: string): void {
  document.querySelector('.load-failure')?.remove();
  const box = document.createElement('section');
  box.className = 'load-failure';
  box.setAttribute('role', 'alert');
  const title = document.createElement('h2');
  title.textContent = `${ja.error.title} (${ja.error.titleEnglish})`;
  const text = document.createElement('p');
  text.textContent = ja.error.load;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'button';
  button.textContent = `${ja.error.retry} (${ja.error.retryEnglish})`;
  button.addEventListener('click', () => {
    session.set(null);
    if (target === window.location.href) window.location.reload();
    else window.location.assign(target);
  });
  box.append(title, text, button);
  document.body.append(box);
  button.focus();
}

/**
 * Makes a navigation wait for the fragment of its page. A page that cannot be loaded is warned of once and loaded as a
 * whole; if that fails as well, the reader gets a Retry button and no loop.
 */
export function watchLoader(): void {
  const loader = (window as unknown as { ___loader: Loader }).___loader;
  const loadPage = loader.loadPage.bind(loader);
  const hovering = loader.hovering.bind(loader);
  let first = true;

  const failed = (target: string): Promise<never> | undefined => {
    if (session.get() === target) {
      showRetry(target);
      return new Promise(() => undefined);
    }
    // biome-ignore lint/suspicious/noConsole: the specification asks for a logged warning
    console.warn(`The page ${target} could not be loaded; it is loaded again as a whole.`);
    session.set(target);
    if (target === window.location.href) window.location.reload();
    else window.location.assign(target);
    return new Promise(() => undefined);
  };

  loader.loadPage = async (path) => {
    const initial = first;
    first = false;
    const target = initial ? window.location.href : new URL(path, window.location.origin).href;
    const resources = await loadPage(path).catch(() => undefined);
    if (!resources || resources.status === 'error') return failed(target);
    const fragment = resources.json?.pageContext?.fragment;
    // On the first visit the fragment is in the HTML.
    if (fragment && !initial) {
      try {
        await loadFragment(fragment);
      } catch {
        return failed(target);
      }
    }
    session.set(null);
    return resources;
  };
  loader.hovering = (path) => {
    if (mayPrefetch()) hovering(path);
  };
}
