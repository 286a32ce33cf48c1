import type { SearchRecord } from '../types';
import type { Engine } from './engine';

let engine: Promise<Engine> | undefined;

/** Fetches index and engine on first use. After a failure, the next call tries again. */
export function loadEngine(): Promise<Engine> {
  engine ??= (async () => {
    const [{ createEngine }, response] = await Promise.all([import('./engine'), fetch('/search.json')]);
    if (!response.ok) throw new Error(`search.json: ${response.status}`);
    return createEngine((await response.json()) as SearchRecord[]);
  })().catch((error) => {
    engine = undefined;
    throw error;
  });
  return engine;
}
