import MiniSearch from 'minisearch';
import type { SearchRecord } from '../types';
import { compact, indexTerms, isPrefix, queryWords, segments, type Word, wordsIn } from './analyse';
import { createMarker, type Piece } from './excerpt';

interface Stored extends SearchRecord {
  readonly id: number;
  readonly place: string;
}

export interface Hit {
  readonly href: string;
  readonly title: readonly Piece[];
  readonly path: readonly string[];
  readonly kind: SearchRecord['kind'];
  /** Where in a call a field stands: `path`, `query`, `header`, `request`, or a status. */
  readonly part?: string;
  readonly excerpt: readonly Piece[];
}

export interface Found {
  /** The best; there may be more. */
  readonly hits: readonly Hit[];
  /** How many there are. */
  readonly total: number;
  /** Nothing has all words of the query: the hits have most of them. */
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
  field: 0.7,
  status: 0.5,
};
/** Fields and statuses of one name are many: each further one counts less, so that others stand among them. */
const repeated = 0.6;
/** `status` before `statusCode`. */
const otherField = 0.7;
const titleIsQuery = 2;
const titleHasQuery = 1.3;
const mostHits = 30;
const mostWords = 8;
const batch = 200;
const nothing: Found = { hits: [], total: 0, partial: false };

/** A word of the query, and how well each record has it. */
interface Sought {
  readonly word: Word;
  readonly scores: ReadonlyMap<number, number>;
}

/** `#call.request.name` → `request`: the same name may stand in several parts of a call. */
const partOf = ({ kind, href }: SearchRecord): string | undefined =>
  kind === 'field' ? href.split('#')[1]?.split('.')[1] : undefined;

/** Makes the index in steps, so that typing stays possible. */
export async function createEngine(records: readonly SearchRecord[]): Promise<Engine> {
  const index = new MiniSearch<Stored>({
    fields: ['title', 'names', 'words', 'text', 'place'],
    idField: 'id',
    storeFields: [],
    tokenize: indexTerms,
    processTerm: (term) => term,
    searchOptions: {
      tokenize: (terms) => terms.split(' '),
      combineWith: 'AND',
      prefix: isPrefix,
      boost: { title: 6, names: 4, words: 4, place: 0.5 },
    },
  });
  const stored = records.map((record, id) => ({ ...record, id, place: record.path.join(' ') }));
  await index.addAllAsync(stored, { chunkSize: batch });
  // Made when first needed: what the texts know, and titles to compare.
  let known: ReadonlySet<string> | undefined;
  const knownWords = () => {
    known ??= new Set(records.flatMap(({ title, text }) => wordsIn(`${title}\n${text}`)));
    return known;
  };
  const titles: string[] = [];
  const titleOf = (id: number): string => {
    titles[id] ??= compact(records[id]?.title ?? '');
    return titles[id];
  };

  /** The records that have a word, each with the best of its forms; the word keeps the forms that found something. */
  function lookUp(word: Word): Sought {
    const scores = new Map<number, number>();
    const forms = word.forms.filter(({ terms, weight, last }) => {
      if (last && scores.size > 0) return false;
      const results = index.search(terms.join(' '));
      for (const { id, score } of results) scores.set(id, Math.max(scores.get(id) ?? 0, score * weight));
      return results.length > 0;
    });
    return { word: { ...word, forms }, scores };
  }

  /** The words of a query with their records. */
  function lookUpAll(query: string): Sought[] {
    return queryWords(query)
      .slice(0, mostWords)
      .flatMap((word) => {
        const own = lookUp(word);
        const parts = own.scores.size > 0 ? [] : segments(word, knownWords()).map(lookUp);
        return parts.length > 0 ? parts : [own];
      });
  }

  function rank(ids: Iterable<number>, scoreOf: (id: number) => number, query: string): number[] {
    const asked = compact(query);
    const all = [...ids].flatMap((id) => {
      const record = records[id];
      const title = titleOf(id);
      if (!record) return [];
      const isPart = record.kind === 'field' || record.kind === 'status';
      const is = title === asked;
      const fits = isPart
        ? is || record.kind === 'status'
          ? 1
          : otherField
        : is
          ? titleIsQuery
          : title.includes(asked)
            ? titleHasQuery
            : 1;
      return [{ id, record, score: scoreOf(id) * weights[record.kind] * fits }];
    });
    all.sort((a, b) => b.score - a.score || a.id - b.id);
    const places = new Set<string>();
    const names = new Map<string, number>();
    return all
      .filter(({ record }) => {
        const place = [record.kind, record.title, ...record.path, partOf(record)].join('\n');
        return !places.has(place) && places.add(place);
      })
      .map((one) => {
        if (one.record.kind !== 'field' && one.record.kind !== 'status') return one;
        const before = names.get(one.record.title) ?? 0;
        names.set(one.record.title, before + 1);
        return { ...one, score: one.score * repeated ** before };
      })
      .sort((a, b) => b.score - a.score)
      .map(({ id }) => id);
  }

  return {
    find(query) {
      const found = lookUpAll(query);
      // A part of a compound that stands nowhere makes the whole unknown.
      const unknown = found.filter(({ scores }) => scores.size === 0);
      if (found.length === unknown.length) return nothing;
      if (unknown.some(({ word }) => found.some((one) => one.word !== word && one.word.group === word.group)))
        return nothing;
      const counts = new Map<number, { words: number; score: number }>();
      for (const { scores } of found) {
        for (const [id, score] of scores) {
          const one = counts.get(id) ?? { words: 0, score: 0 };
          counts.set(id, { words: one.words + 1, score: one.score + Math.log(score) });
        }
      }
      const most = Math.max(...[...counts.values()].map((one) => one.words));
      const partial = most < found.length;
      const least = partial ? Math.max(most - 1, Math.ceil(found.length / 2)) : most;
      const ids = [...counts].filter(([, { words }]) => words >= least).map(([id]) => id);
      const ranked = rank(
        ids,
        (id) => {
          const one = counts.get(id);
          return one ? Math.exp(one.score / one.words) * (one.words / found.length) ** 2 : 0;
        },
        query,
      );
      const marker = createMarker(found.map(({ word }) => word));
      const hits = ranked.slice(0, mostHits).flatMap((id): Hit[] => {
        const record = records[id];
        if (!record) return [];
        const part = partOf(record);
        return [
          {
            href: record.href,
            title: marker.marks(record.title),
            path: record.path,
            kind: record.kind,
            ...(part ? { part } : {}),
            excerpt: marker.excerpt(record.text, record.names),
          },
        ];
      });
      return { hits, total: ranked.length, partial };
    },
  };
}
