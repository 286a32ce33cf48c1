import { useSyncExternalStore } from 'react';

/** At or below 996 pixels. The stylesheets use the same query and no other, so both always agree. */
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
