import { storage } from '../theme/storage';
import { onFragment } from './fragments';

const key = 'code-language';

function choose(tabs: HTMLElement, language: string): void {
  const list = [...tabs.querySelectorAll<HTMLElement>(':scope > .tabs__list > .tabs__tab')];
  const panels = [...tabs.querySelectorAll<HTMLElement>(':scope > .tabs__panel')];
  const known = list.some((tab) => tab.dataset['language'] === language)
    ? language
    : list[0]?.dataset['language'];
  for (const tab of list) {
    const chosen = tab.dataset['language'] === known;
    tab.setAttribute('aria-selected', String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
  }
  for (const panel of panels) panel.hidden = panel.dataset['language'] !== known;
  tabs.dataset['ready'] = '';
}

let counter = 0;

/** Connects each tab with its panel, by ids that are generated in the browser. */
function prepare(tabs: HTMLElement): void {
  for (const panel of tabs.querySelectorAll<HTMLElement>(':scope > .tabs__panel')) {
    const tab = tabs.querySelector<HTMLElement>(
      `:scope > .tabs__list > [data-language="${panel.dataset['language']}"]`,
    );
    if (!tab) continue;
    panel.id ||= `panel-${++counter}`;
    tab.id ||= `${panel.id}-tab`;
    panel.setAttribute('role', 'tabpanel');
    panel.setAttribute('aria-labelledby', tab.id);
    tab.setAttribute('aria-controls', panel.id);
  }
}

/** Applies the choice to all blocks of the page and stores it for the site. Keeps the clicked tab's screen position. */
function chooseEverywhere(tab: HTMLElement): void {
  const language = tab.dataset['language'] ?? '';
  storage.set(key, language);
  const before = tab.getBoundingClientRect().top;
  for (const tabs of document.querySelectorAll<HTMLElement>('[data-tabs]')) {
    if (tabs.querySelector(`:scope > .tabs__list > [data-language="${language}"]`)) choose(tabs, language);
  }
  window.scrollBy({ top: tab.getBoundingClientRect().top - before, behavior: 'instant' });
}

export function startTabs(): void {
  onFragment((root) => {
    const kept = storage.get(key) ?? '';
    for (const tabs of root.querySelectorAll<HTMLElement>('[data-tabs]')) {
      prepare(tabs);
      choose(tabs, kept);
    }
  });
  document.addEventListener('click', (event) => {
    const tab = (event.target as Element | null)?.closest<HTMLElement>('.tabs__tab');
    if (tab) chooseEverywhere(tab);
  });
  document.addEventListener('keydown', (event) => {
    const tab = (event.target as Element | null)?.closest<HTMLElement>('.tabs__tab');
    if (!tab) return;
    const list = [...(tab.parentElement?.querySelectorAll<HTMLElement>('.tabs__tab') ?? [])];
    const moves: Readonly<Record<string, number>> = {
      ArrowRight: list.indexOf(tab) + 1,
      ArrowLeft: list.indexOf(tab) - 1,
      Home: 0,
      End: list.length - 1,
    };
    const move = moves[event.key];
    const next = move === undefined ? undefined : list[(move + list.length) % list.length];
    if (!next) return;
    event.preventDefault();
    chooseEverywhere(next);
    next.focus();
  });
}
