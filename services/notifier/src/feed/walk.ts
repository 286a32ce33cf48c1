import { type FeedPosition, unknownCursor } from '../domain/feed-cursor.ts';
import type { FeedPage } from '../ports.ts';

/** What stands on a place. */
export interface FeedEntry {
  /** Empty: it was forgotten, or was sent again once more. */
  readonly id: string;
  /** 0: its one place. */
  readonly resends: number;
}

/** How far one walks along the places. */
export interface WalkOptions {
  readonly isMeant: (entry: FeedEntry) => boolean;
  /** Of places that are meant. */
  readonly most: number;
  readonly mostInAll: number;
}

/** The next places of one page. */
export interface Stretch {
  readonly page: FeedPage;
  /** The first of these places. */
  readonly from: number;
  readonly entries: readonly FeedEntry[];
}

/**
 * What is on the places from a position on, page by page; pages that are missing are passed over. Throws invalid_argument
 * for a position that these pages do not know.
 */
export function walk(
  at: FeedPosition,
  pages: readonly FeedPage[],
  { isMeant, most, mostInAll }: WalkOptions,
): Stretch[] {
  const stretches: Stretch[] = [];
  let [meant, all] = [0, 0];
  for (const page of pages) {
    const from = page.number === at.page ? at.place : 0;
    if (page.number === at.page) requireKnown(at, page);
    const entries: FeedEntry[] = [];
    for (const entry of entriesOf(page).slice(from)) {
      if (meant === most || all === mostInAll) break;
      entries.push(entry);
      all++;
      if (isMeant(entry)) meant++;
    }
    stretches.push({ page, from, entries });
    if (from + entries.length < page.ids.length) break;
  }
  return stretches;
}

function requireKnown({ place, tag }: FeedPosition, page: FeedPage): void {
  const isKnown = place === 0 ? tag === page.before : tag === page.tag;
  if (!isKnown || place > page.ids.length) throw unknownCursor();
}

function entriesOf({ ids, resends }: FeedPage): FeedEntry[] {
  const again = new Map(resends.map((one) => [one.place, one.resends]));
  return ids.map((id, place) => ({ id, resends: again.get(place) ?? 0 }));
}
