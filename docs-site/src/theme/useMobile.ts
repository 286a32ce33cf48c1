import { useSyncExternalStore } from 'react';

/** Media query of the mobile layout: at or below 996 pixels. The stylesheets use the same query. */
export const mobileQuery = '(max-width: 996px)';

const subscribe = (changed: () => void) => {
  const media = matchMedia(mobileQuery);
  media.addEventListener('change', changed);
  return () => media.removeEventListener('change', changed);
};

export const useMobile = (): boolean =>
  useSyncExternalStore(
    subscribe,
    () => matchMedia(mobileQuery).matches,
    () => false,
  );
