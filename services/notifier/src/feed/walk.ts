import { type FeedPosition, unknownCursor } from '../domain/feed-cursor.ts';
import type { FeedHead, FeedPage } from '../ports.ts';

/** A page is removed so long after the last of its deliveries; milliseconds. */
export const pageOutlivesMs = 86_400_000;

/** What stands on a place. */
export interface FeedEntry {
  /** Empty: it was forgotten, or was sent again once more. */
  readonly id: string;
  /** 0: its one place. */
  readonly resends: number;
  /** Until then it is not removed because it had its time; milliseconds since 1970. */
  readonly endMs: number;
}

/** How far one walks along the places. */
export interface WalkOptions {
  readonly isMeant: (entry: FeedEntry) => boolean;
  /** Of places that are meant. */
  readonly most: number;
  readonly mostInAll: number;
  readonly nowMs: number;
}

export interface Walked {
  readonly entries: readonly FeedEntry[];
  /** The position behind so many of the entries. */
  readonly behind: (count: number) => FeedPosition;
}

/** Places of one page that were walked. */
interface Part {
  readonly page: FeedPage;
  readonly from: number;
  readonly count: number;
}

/**
 * What is on the places from a position on, and the position behind the first ones of them. Undefined: some of what
 * comes next had its time since the reader began (ADR 0053, Time).
 */
export function walk(
  at: FeedPosition,
  head: FeedHead,
  pages: readonly FeedPage[],
  { isMeant, most, mostInAll, nowMs }: WalkOptions,
): Walked | undefined {
  // A page is removed long after its events, so this reader never had to see those of a page that is missing.
  const knowsMissing = nowMs - at.beganAtMs < pageOutlivesMs;
  const [first] = pages;
  if (!first) {
    const end: FeedPosition = { ...at, page: head.last + 1, place: 0, tag: head.tag };
    return knowsMissing ? { entries: [], behind: () => end } : undefined;
  }
  if (first.number === at.page) {
    const isKnown = at.place === 0 ? at.tag === first.before : at.tag === first.tag;
    if (!isKnown || at.place > first.ids.length) throw unknownCursor();
  }
  const entries: FeedEntry[] = [];
  let meant = 0;
  const isEnough = () => meant === most || entries.length === mostInAll;
  const ends: Part[] = [];
  let [number, place] = [at.page, at.place];
  for (const page of pages) {
    if (isEnough()) break;
    if (page.number !== number) {
      if (!knowsMissing) break;
      [number, place] = [page.number, 0];
    }
    // Told when nothing before it is left to be read.
    if (place === 0 && page.gapFromMs !== undefined && at.beganAtMs <= page.gapFromMs) break;
    let count = 0;
    for (const entry of entriesOf(page).slice(place)) {
      if (isEnough()) break;
      entries.push(entry);
      count++;
      if (isMeant(entry)) meant++;
    }
    ends.push({ page, from: place, count });
    if (place + count < page.ids.length) break;
    [number, place] = [number + 1, 0];
  }
  if (ends.length === 0) return undefined;
  return { entries, behind: (count) => positionBehind(at, ends, count) };
}

function positionBehind(at: FeedPosition, parts: readonly Part[], count: number): FeedPosition {
  let left = count;
  let behind = at;
  for (const { page, from, count: its } of parts) {
    if (left < its)
      return left === 0 ? behind : { ...at, page: page.number, place: from + left, tag: page.tag };
    left -= its;
    const isWhole = from + its === page.ids.length;
    const next = isWhole ? { page: page.number + 1, place: 0 } : { page: page.number, place: from + its };
    behind = { ...at, ...next, tag: page.tag };
  }
  return behind;
}

function entriesOf({ ids, ends, resends }: FeedPage): FeedEntry[] {
  const again = new Map(resends.map((one) => [one.place, one.resends]));
  return ids.map((id, place) => ({ id, resends: again.get(place) ?? 0, endMs: ends[place] ?? 0 }));
}
