import { type ReactElement, useSyncExternalStore } from 'react';
import { ja } from '../../strings/ja';

let shown = false;
const listeners = new Set<() => void>();

/** Shows or hides the spinner. Called by gatsby-browser. */
export function setLoading(next: boolean): void {
  if (shown === next) return;
  shown = next;
  for (const listener of listeners) listener();
}

export function Loading(): ReactElement {
  const on = useSyncExternalStore(
    (changed) => {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    () => shown,
    () => false,
  );
  return (
    <div className="loading" role="status">
      {on ? (
        <>
          <span className="spinner" />
          <span className="visually-hidden">{ja.loading}</span>
        </>
      ) : null}
    </div>
  );
}
