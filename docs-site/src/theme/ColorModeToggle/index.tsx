import { type ReactElement, useSyncExternalStore } from 'react';
import { ja } from '../../strings/ja';
import { Icon } from '../Icon';
import { storage } from '../storage';

type Theme = 'light' | 'dark';
const key = 'theme';
const listeners = new Set<() => void>();

const apply = (theme: Theme) => {
  document.documentElement.setAttribute('data-theme', theme);
  for (const listener of listeners) listener();
};

const subscribe = (changed: () => void) => {
  listeners.add(changed);
  // Follows a choice in another tab.
  const stored = (event: StorageEvent) => {
    if (event.key === key || event.key === null) apply(event.newValue === 'dark' ? 'dark' : 'light');
  };
  window.addEventListener('storage', stored);
  return () => {
    listeners.delete(changed);
    window.removeEventListener('storage', stored);
  };
};

const current = (): Theme =>
  document.documentElement.getAttribute('data-theme') === 'dark' ? 'dark' : 'light';

export function ColorModeToggle(): ReactElement {
  const theme = useSyncExternalStore<Theme>(subscribe, current, () => 'light');
  return (
    <button
      type="button"
      className="navbar__icon"
      data-colour-toggle=""
      aria-label={ja.colour.toggle(theme === 'dark' ? ja.colour.dark : ja.colour.light)}
      onClick={() => {
        const next = theme === 'dark' ? 'light' : 'dark';
        storage.set(key, next);
        apply(next);
      }}
    >
      <Icon name="sun" />
      <Icon name="moon" />
    </button>
  );
}
