import { createContext } from 'react';

/** Reads a fragment's HTML in the build; undefined in the browser. */
export const FragmentContext = createContext<((address: string) => string) | undefined>(undefined);
