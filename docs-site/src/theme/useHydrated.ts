import { useEffect, useState } from 'react';

/** False in the build and in the first render in the browser, which must equal it: the build knows no query and no hash. */
export function useHydrated(): boolean {
  const [hydrated, setHydrated] = useState(false);
  useEffect(() => setHydrated(true), []);
  return hydrated;
}
