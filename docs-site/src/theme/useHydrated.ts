import { useEffect, useState } from 'react';

/** False in the build and in the browser's first render, which must be equal: the build knows neither query nor hash. */
export function useHydrated(): boolean {
  const [hydrated, setHydrated] = useState(false);
  useEffect(() => setHydrated(true), []);
  return hydrated;
}
