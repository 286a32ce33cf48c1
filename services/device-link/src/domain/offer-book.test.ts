import { limits } from './limits.ts';
import { OfferBook } from './offer-book.ts';

function bookWith(...ids: number[]): OfferBook<number> {
  const book = new OfferBook<number>();
  for (const id of ids) book.add(id, id);
  return book;
}

function sendAll(book: OfferBook<number>, nowMs = 1): number[] {
  const sent: number[] = [];
  for (let id = book.next(nowMs); id !== undefined; id = book.next(nowMs)) sent.push(id);
  return sent;
}

/** Sends what can be sent, each of which is started at once. */
function sentAndOver(book: OfferBook<number>): number[] {
  const sent: number[] = [];
  for (let some = sendAll(book); some.length > 0; some = sendAll(book)) {
    for (const id of some) {
      book.ready(id, 2);
      book.permitAnswered(id, 'start', '');
    }
    sent.push(...some);
  }
  return sent;
}

describe('the offers of a session', () => {
  it('go out in order of id, however they come in', () => {
    expect(sendAll(bookWith(5, 1, 3, 2, 4))).toEqual([1, 2, 3, 4, 5]);
  });

  it('are sent once: while they wait, while they are unanswered, and after their end', () => {
    const book = bookWith(7);
    expect(book.add(7, 7)).toBe(false);
    expect(sendAll(book)).toEqual([7]);
    expect(book.add(7, 7)).toBe(false);
    book.ready(7, 2);
    expect(book.permitAnswered(7, 'start', '')).toEqual([{ id: 7, answer: 'start', reason: '' }]);
    expect(book.add(7, 7)).toBe(false);
    expect(book.idle).toBe(true);
  });

  it('of which many wait: the next 100 are kept whole, in whatever order they came; the rest is read', () => {
    const ids = Array.from({ length: 200 }, (_, n) => n + 1);
    const odd = ids.filter((id) => id % 2 === 1);
    const even = ids.filter((id) => id % 2 === 0);
    for (const order of [ids, ids.toReversed(), [...odd, ...even]]) {
      const book = bookWith(...order);
      expect(sentAndOver(book)).toEqual(ids.slice(0, 100));
      const lacking = book.lacking(32);
      expect(lacking).toEqual(ids.slice(100, 132));
      book.read(lacking, new Map(lacking.map((id) => [id, id])));
      expect(sentAndOver(book)).toEqual(lacking);
      expect(book.pendingCount).toBe(68);
    }
  });

  it('that are large are kept whole only while they are the next one', () => {
    const book = new OfferBook<number>((offer) => offer % 2 === 0);
    for (const id of [6, 3, 4, 2, 5]) book.add(id, id);
    expect(sendAll(book)).toEqual([2, 3]);
    expect(book.lacking(32)).toEqual([4]);
    book.add(1, 1);
    book.read([4], new Map([[4, 4]]));
    expect(sendAll(book)).toEqual([1, 4, 5]);
    expect(book.lacking(32)).toEqual([6]);
  });

  it('start in the order of the offers, whatever order the readies and answers come in', () => {
    const book = bookWith(1, 2, 3);
    sendAll(book);
    expect([3, 1, 2].map((id) => book.ready(id, 2))).toEqual(['ask', 'ask', 'ask']);
    expect(book.permitAnswered(3, 'start', '')).toEqual([]);
    expect(book.permitAnswered(2, 'drop', 'canceled')).toEqual([]);
    expect(book.permitAnswered(1, 'start', '')).toEqual([
      { id: 1, answer: 'start', reason: '' },
      { id: 2, answer: 'drop', reason: 'canceled' },
      { id: 3, answer: 'start', reason: '' },
    ]);
  });

  it('are asked about once, and again by a ready that comes after the start', () => {
    const book = bookWith(1);
    sendAll(book);
    expect(book.ready(1, 2)).toBe('ask');
    expect(book.ready(1, 3)).toBe('ignore');
    book.permitAnswered(1, 'start', '');
    expect(book.ready(1, 4)).toBe('ask');
    expect(book.ready(1, 5)).toBe('ignore');
    expect(book.permitAnswered(1, 'drop', 'canceled')).toEqual([
      { id: 1, answer: 'drop', reason: 'canceled' },
    ]);
  });

  it('are answered out of turn where they were started before, and hold up nobody', () => {
    const book = bookWith(1, 2, 3);
    book.next(1);
    book.ready(1, 2);
    book.permitAnswered(1, 'start', '');
    book.next(3);
    expect(book.ready(1, 4)).toBe('ask');
    book.next(5);
    book.ready(2, 6);
    expect(book.permitAnswered(2, 'start', '')).toEqual([{ id: 2, answer: 'start', reason: '' }]);
    expect(book.permitAnswered(1, 'start', '')).toEqual([{ id: 1, answer: 'start', reason: '' }]);
    expect(book.ready(3, 7)).toBe('ask');
  });

  it('leave ids that were never offered to the judge', () => {
    const book = bookWith();
    expect(book.ready(99, 1)).toBe('ask');
    expect(book.permitAnswered(99, 'drop', 'unknown')).toEqual([
      { id: 99, answer: 'drop', reason: 'unknown' },
    ]);
    expect(book.ready(99, 2)).toBe('ask');
  });

  it('are asked about again after a wish to revoke them', () => {
    const book = bookWith(1);
    sendAll(book);
    book.ready(1, 2);
    expect(book.permitAnswered(1, 'revoke', 'newer')).toEqual([{ id: 1, answer: 'revoke', reason: 'newer' }]);
    expect(book.ready(1, 3)).toBe('ask');
  });

  it('are not sent for what is started without one', () => {
    const book = bookWith(1);
    book.started(1);
    book.started(2);
    expect(book.add(2, 2)).toBe(false);
    expect(sendAll(book)).toEqual([]);
    expect(book.ready(1, 2)).toBe('ask');
  });

  it('are forgotten when withdrawn before they were sent, dropped when unanswered', () => {
    const book = bookWith(1, 2);
    book.next(1);
    expect(book.withdraw([1, 2], 'canceled')).toEqual([{ id: 1, answer: 'drop', reason: 'canceled' }]);
    expect(book.idle).toBe(true);
  });

  it('are dropped when the judge has answered, where they are withdrawn while it is asked', () => {
    const book = bookWith(1);
    sendAll(book);
    book.ready(1, 2);
    expect(book.withdraw([1], 'canceled')).toEqual([]);
    // The permit was given before the cancellation.
    expect(book.permitAnswered(1, 'start', '')).toEqual([{ id: 1, answer: 'drop', reason: 'canceled' }]);
  });

  it('are dropped when withdrawn after their start, or while a start waits for its turn, and once', () => {
    const book = bookWith(1, 2, 3);
    sendAll(book);
    for (const id of [1, 2, 3]) book.ready(id, 2);
    book.permitAnswered(1, 'start', '');
    book.permitAnswered(3, 'start', '');
    book.started(4);
    expect(book.withdraw([1, 3, 4, 5], 'reset')).toEqual([
      { id: 1, answer: 'drop', reason: 'reset' },
      { id: 4, answer: 'drop', reason: 'reset' },
    ]);
    expect(book.permitAnswered(2, 'start', '')).toEqual([
      { id: 2, answer: 'start', reason: '' },
      { id: 3, answer: 'drop', reason: 'reset' },
    ]);
    expect(book.withdraw([1, 3, 4], 'reset')).toEqual([]);
  });

  it('tell since when the oldest of them has no ready', () => {
    const book = bookWith(1, 2);
    book.next(100);
    book.next(200);
    expect(book.oldestUnansweredMs()).toBe(100);
    book.ready(1, 300);
    expect(book.oldestUnansweredMs()).toBe(200);
    book.ready(2, 300);
    expect(book.oldestUnansweredMs()).toBeUndefined();
  });

  it('are unanswered in a bounded number, and remembered in a bounded number', () => {
    const book = bookWith(...Array.from({ length: limits.maxInFlightOffers + 5 }, (_, i) => i + 1));
    expect(sendAll(book)).toHaveLength(limits.maxInFlightOffers);
    book.ready(1, 2);
    book.permitAnswered(1, 'start', '');
    expect(sendAll(book)).toEqual([limits.maxInFlightOffers + 1]);
    const long = bookWith();
    for (let id = 1; id <= limits.maxRememberedOffers + 1; id += 1) {
      long.ready(id, 1);
      long.permitAnswered(id, 'start', '');
    }
    expect(long.add(2, 2)).toBe(false);
    expect(long.add(1, 1)).toBe(true);
  });
});
