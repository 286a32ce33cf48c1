import type { Evidence, ReadFeed } from '../evidence.ts';
import { feedApp, notice, type Seeded } from './good-run.ts';

const stable = 'no event is in the feed twice, or inserted before an issued cursor';

const feed = (e: Evidence, change: (feed: ReadFeed) => Partial<ReadFeed>): Evidence => ({
  ...e,
  feeds: e.feeds.map((one) => ({ ...one, ...change(one) })),
});
/** Changes the events of both readers of the feed. */
const both = (e: Evidence, change: (ids: readonly string[]) => readonly string[]): Evidence =>
  feed(e, ({ followed, again }) => ({ followed: change(followed), again: change(again) }));

/** Violations of the promises about the event feed. */
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
    'every event in the feed arrived, unless it was replaced or given up',
    'an event that never arrived',
    (e) => ({ ...e, notDelivered: [] }),
  ],
  [stable, 'an event that is in the feed twice', (e) => both(e, (ids) => [...ids, 'boot-9'])],
  [
    stable,
    'an event that was inserted before an issued cursor',
    (e) =>
      feed(e, ({ again }) => ({
        followed: again.slice(0, 3),
        again: [...again.slice(0, 1), ...again.slice(2)],
      })),
    ['the feed has every callback that arrived'],
  ],
  [
    stable,
    'two readers that get different orders',
    (e) => feed(e, ({ again: [first = '', second = '', ...rest] }) => ({ again: [second, first, ...rest] })),
  ],
  [
    'the feed keeps the order of each transaction',
    'an end before its start',
    (e) => both(e, ([first = '', second = '', third = '', ...rest]) => [third, second, first, ...rest]),
  ],
  [
    'no request for the feed is rejected',
    'a rejected cursor',
    (e) => feed(e, () => ({ refusals: ['400 The cursor is not known.'] })),
  ],
];
