import type { Evidence, ReadFeed } from '../evidence.ts';
import { feedApp, notice, type Seeded } from './good-run.ts';

const stable = 'no event comes twice in the feed, nor behind a cursor that was handed out';

const feed = (e: Evidence, change: (feed: ReadFeed) => Partial<ReadFeed>): Evidence => ({
  ...e,
  feeds: e.feeds.map((one) => ({ ...one, ...change(one) })),
});
/** The same for who followed it and who read it at the end. */
const both = (e: Evidence, change: (ids: readonly string[]) => readonly string[]): Evidence =>
  feed(e, ({ followed, again }) => ({ followed: change(followed), again: change(again) }));

/** Violations of what the event feed promises. */
export const seededFeed: readonly Seeded[] = [
  [
    'the feed has every callback that arrived',
    'a callback that arrived and is in no feed',
    (e) => ({
      ...e,
      arrivals: [...e.arrivals, notice('boot-10', { applicationId: feedApp, operationId: 'notify-boot' })],
    }),
  ],
  [
    'what is in the feed arrived, unless it was replaced or given up',
    'an event that never arrived',
    (e) => ({ ...e, notDelivered: [] }),
  ],
  [stable, 'an event that comes twice', (e) => both(e, (ids) => [...ids, 'boot-9'])],
  [
    stable,
    'an event that was put behind a cursor',
    (e) =>
      feed(e, ({ again }) => ({
        followed: again.slice(0, 3),
        again: [...again.slice(0, 1), ...again.slice(2)],
      })),
    ['the feed has every callback that arrived'],
  ],
  [
    stable,
    'two readers that see another order',
    (e) => feed(e, ({ again: [first = '', second = '', ...rest] }) => ({ again: [second, first, ...rest] })),
  ],
  [
    'the feed keeps the order of each transaction',
    'an end before its start',
    (e) => both(e, ([first = '', second = '', third = '', ...rest]) => [third, second, first, ...rest]),
  ],
  [
    'no reader of the feed is refused',
    'a cursor that was refused',
    (e) => feed(e, () => ({ refusals: ['400 The cursor is not known.'] })),
  ],
];
