import MiniSearch from 'minisearch';
import type { SearchRecord } from '../types';
import { indexTerms, isPrefix, queryParts, type Word } from './analyse';
import { createMarker, type Piece } from './excerpt';

export interface Hit {
  readonly href: string;
  readonly title: readonly Piece[];
  readonly path: readonly string[];
  readonly kind: SearchRecord['kind'];
  /** Part of a call that contains the field: `path`, `query`, `header`, `request`, or a status. */
  readonly part?: string;
  readonly excerpt: readonly Piece[];
}

export interface Found {
  /** The best hits, at most `maxHits`. */
  readonly hits: readonly Hit[];
  /** Number of all hits. */
  readonly total: number;
  /** True if no record matches all words of the query. The hits match some words. */
  readonly partial: boolean;
}

export interface Engine {
  find(query: string): Found;
}

const weights: Readonly<Record<SearchRecord['kind'], number>> = {
  page: 1.8,
  heading: 1.5,
  operation: 1.6,
  notification: 1.2,
  field: 0.5,
  status: 0.4,
};
/** Score factor for each further field or status of the same name, so that other records are also among the hits. */
const repetitionFactor = 0.6;
const maxHits = 30;
const maxParts = 8;
const batchSize = 200;

/** `#call.request.name` → `request`. Several parts of a call may have a field of the same name. */
const partOf = ({ kind, href }: SearchRecord): string | undefined =>
  kind === 'field' ? href.split('#')[1]?.split('.')[1] : undefined;

const isPart = ({ kind }: SearchRecord): boolean => kind === 'field' || kind === 'status';

/** Creates the index in batches, so that the page stays responsive. */
export async function createEngine(records: readonly SearchRecord[]): Promise<Engine> {
  const documents = records.map((record, id) => ({ ...record, id, place: record.path.join(' ') }));
  const titles = records.map((record) => (isPart(record) ? '' : indexTerms(record.title).join(' ')));
  const index = new MiniSearch<(typeof documents)[number]>({
    fields: ['title', 'names', 'words', 'text', 'place'],
    tokenize: indexTerms,
    processTerm: (term) => term,
    searchOptions: {
      tokenize: (terms) => terms.split(' '),
      combineWith: 'AND',
      prefix: isPrefix,
      boost: { title: 6, names: 4, words: 6, place: 0.5 },
      boostDocument: (id) => weights[documents[id]?.kind ?? 'field'],
    },
  });
  await index.addAllAsync(documents, { chunkSize: batchSize });

  /** Scores of the records that match all words, by id. */
  const search = (words: readonly Word[]): Map<number, number> => {
    const terms = words.flatMap((word) => word.terms);
    return new Map(index.search(terms.join(' ')).map(({ id, score }) => [id as number, score]));
  };
  const known = (word: Word): readonly Word[] =>
    word.parts.length > 0 && search([word]).size === 0 ? word.parts : [word];

  /** Scores of the records that match the most parts of a query; used if no record matches all. */
  function searchSome(parts: readonly Word[][]): Map<number, number> {
    const results = parts.map(search);
    const counts = new Map<number, number>();
    for (const id of results.flatMap((one) => [...one.keys()])) counts.set(id, (counts.get(id) ?? 0) + 1);
    const most = Math.max(...counts.values());
    const best = [...counts.keys()].filter((id) => counts.get(id) === most);
    return new Map(best.map((id) => [id, Math.max(...results.map((one) => one.get(id) ?? 0))]));
  }

  /** Sorts the records by score. Of records that look the same in the results, keeps the first. */
  function rank(scores: ReadonlyMap<number, number>, query: string): SearchRecord[] {
    const queried = indexTerms(query).join(' ');
    const all = [...scores].flatMap(([id, score]) => {
      const [record, title = ''] = [records[id], titles[id]];
      if (!record) return [];
      return [
        { record, score: title.includes(queried) ? score * (1 + queried.length / title.length) : score },
      ];
    });
    all.sort((a, b) => b.score - a.score);
    const seen = new Set<string>();
    const names = new Map<string, number>();
    return all
      .filter(({ record }) => {
        const look = [record.kind, record.title, ...record.path, partOf(record)].join('\n');
        return !seen.has(look) && seen.add(look);
      })
      .map(({ record, score }) => {
        if (!isPart(record)) return { record, score };
        const earlier = names.get(record.title) ?? 0;
        names.set(record.title, earlier + 1);
        return { record, score: score * repetitionFactor ** earlier };
      })
      .sort((a, b) => b.score - a.score)
      .map(({ record }) => record);
  }

  return {
    find(query) {
      const parts = queryParts(query)
        .slice(0, maxParts)
        .map((words) => words.flatMap(known));
      if (parts.length === 0) return { hits: [], total: 0, partial: false };
      const all = search(parts.flat());
      const partial = all.size === 0 && parts.length > 1;
      const ranked = rank(partial ? searchSome(parts) : all, query);
      const marker = createMarker(parts.flat());
      const hits = ranked.slice(0, maxHits).map((record): Hit => {
        const { href, title, path, kind, text, names } = record;
        const part = partOf(record);
        return {
          ...{ href, path, kind, title: marker.marks(title), excerpt: marker.excerpt(text, names) },
          ...(part && { part }),
        };
      });
      return { hits, total: ranked.length, partial: partial && ranked.length > 0 };
    },
  };
}
