import { createContext } from 'react';

/** Gives a fragment's HTML while the page is built; in the browser there is none. */
export const FragmentContext = createContext<((address: string) => string) | undefined>(undefined);
