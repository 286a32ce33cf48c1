import MiniSearch from 'minisearch';
import type { SearchRecord } from '../types';
import { indexTerms, isPrefix, queryTerms } from './analyse';

interface Stored extends SearchRecord {
  readonly id: number;
  readonly place: string;
}

export interface Hit {
  readonly href: string;
  readonly title: string;
  readonly path: readonly string[];
  readonly kind: SearchRecord['kind'];
}

export interface Engine {
  find(query: string): readonly Hit[];
}

const weights: Readonly<Record<SearchRecord['kind'], number>> = {
  page: 1.8,
  heading: 1.3,
  operation: 1.6,
  field: 0.9,
  status: 0.6,
};
const mostHits = 30;
const batch = 200;

/** Makes the index in steps, so that typing stays possible. */
export async function createEngine(records: readonly SearchRecord[]): Promise<Engine> {
  const index = new MiniSearch<Stored>({
    fields: ['title', 'text', 'place'],
    idField: 'id',
    storeFields: [],
    tokenize: indexTerms,
    processTerm: (term) => term,
    searchOptions: {
      tokenize: queryTerms,
      combineWith: 'AND',
      prefix: isPrefix,
      boost: { title: 6, place: 0.5 },
      boostDocument: (id) => weights[records[id as number]?.kind ?? 'page'],
    },
  });
  const stored = records.map((record, id) => ({ ...record, id, place: record.path.join(' ') }));
  await index.addAllAsync(stored, { chunkSize: batch });
  return {
    find(query) {
      if (queryTerms(query).length === 0) return [];
      const found = index.search(query).slice(0, mostHits);
      return found.flatMap(({ id }) => {
        const record = records[id as number];
        return record
          ? [{ href: record.href, title: record.title, path: record.path, kind: record.kind }]
          : [];
      });
    },
  };
}
