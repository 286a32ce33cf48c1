import { limits } from './limits.ts';
import { OfferQueue } from './offer-queue.ts';

function queueWith(...ids: number[]): OfferQueue<number> {
  const queue = new OfferQueue<number>();
  for (const id of ids) queue.add(id, id);
  return queue;
}

function sendAll(queue: OfferQueue<number>, nowMs = 1): number[] {
  const sent: number[] = [];
  for (let id = queue.next(nowMs); id !== undefined; id = queue.next(nowMs)) sent.push(id);
  return sent;
}

/** Sends the offers that can be sent, and starts each at once. */
function sentAndOver(queue: OfferQueue<number>): number[] {
  const sent: number[] = [];
  for (let some = sendAll(queue); some.length > 0; some = sendAll(queue)) {
    for (const id of some) {
      queue.ready(id, 2);
      queue.grantAnswered(id, 'start', '');
    }
    sent.push(...some);
  }
  return sent;
}

describe('the offers of a session', () => {
  it('are sent in order of id, in whatever order they arrive', () => {
    expect(sendAll(queueWith(5, 1, 3, 2, 4))).toEqual([1, 2, 3, 4, 5]);
  });

  it('are sent once: while they wait, while they are unanswered, and after their end', () => {
    const queue = queueWith(7);
    expect(queue.add(7, 7)).toBe(false);
    expect(sendAll(queue)).toEqual([7]);
    expect(queue.add(7, 7)).toBe(false);
    queue.ready(7, 2);
    expect(queue.grantAnswered(7, 'start', '')).toEqual([{ id: 7, answer: 'start', reason: '' }]);
    expect(queue.add(7, 7)).toBe(false);
    expect(queue.idle).toBe(true);
  });

  it('stay in memory if they are among the next 100, in whatever order they arrived; the others are read', () => {
    const ids = Array.from({ length: 200 }, (_, n) => n + 1);
    const odd = ids.filter((id) => id % 2 === 1);
    const even = ids.filter((id) => id % 2 === 0);
    for (const order of [ids, ids.toReversed(), [...odd, ...even]]) {
      const queue = queueWith(...order);
      expect(sentAndOver(queue)).toEqual(ids.slice(0, 100));
      const lacking = queue.missing(32);
      expect(lacking).toEqual(ids.slice(100, 132));
      queue.storeRead(lacking, new Map(lacking.map((id) => [id, id])));
      expect(sentAndOver(queue)).toEqual(lacking);
      expect(queue.pendingCount).toBe(68);
    }
  });

  it('that are large stay in memory only while they are the next one', () => {
    const queue = new OfferQueue<number>((offer) => offer % 2 === 0);
    for (const id of [6, 3, 4, 2, 5]) queue.add(id, id);
    expect(sendAll(queue)).toEqual([2, 3]);
    expect(queue.missing(32)).toEqual([4]);
    queue.add(1, 1);
    queue.storeRead([4], new Map([[4, 4]]));
    expect(sendAll(queue)).toEqual([1, 4, 5]);
    expect(queue.missing(32)).toEqual([6]);
  });

  it('start in the order of the offers, in whatever order readies and answers arrive', () => {
    const queue = queueWith(1, 2, 3);
    sendAll(queue);
    expect([3, 1, 2].map((id) => queue.ready(id, 2))).toEqual(['request', 'request', 'request']);
    expect(queue.grantAnswered(3, 'start', '')).toEqual([]);
    expect(queue.grantAnswered(2, 'drop', 'canceled')).toEqual([]);
    expect(queue.grantAnswered(1, 'start', '')).toEqual([
      { id: 1, answer: 'start', reason: '' },
      { id: 2, answer: 'drop', reason: 'canceled' },
      { id: 3, answer: 'start', reason: '' },
    ]);
  });

  it('request a start grant once, and again for a ready after the start', () => {
    const queue = queueWith(1);
    sendAll(queue);
    expect(queue.ready(1, 2)).toBe('request');
    expect(queue.ready(1, 3)).toBe('ignore');
    queue.grantAnswered(1, 'start', '');
    expect(queue.ready(1, 4)).toBe('request');
    expect(queue.ready(1, 5)).toBe('ignore');
    expect(queue.grantAnswered(1, 'drop', 'canceled')).toEqual([
      { id: 1, answer: 'drop', reason: 'canceled' },
    ]);
  });

  it('are answered out of order if they were started before, and delay no other offer', () => {
    const queue = queueWith(1, 2, 3);
    queue.next(1);
    queue.ready(1, 2);
    queue.grantAnswered(1, 'start', '');
    queue.next(3);
    expect(queue.ready(1, 4)).toBe('request');
    queue.next(5);
    queue.ready(2, 6);
    expect(queue.grantAnswered(2, 'start', '')).toEqual([{ id: 2, answer: 'start', reason: '' }]);
    expect(queue.grantAnswered(1, 'start', '')).toEqual([{ id: 1, answer: 'start', reason: '' }]);
    expect(queue.ready(3, 7)).toBe('request');
  });

  it('request a start grant also for ids that were never offered', () => {
    const queue = queueWith();
    expect(queue.ready(99, 1)).toBe('request');
    expect(queue.grantAnswered(99, 'drop', 'unknown')).toEqual([
      { id: 99, answer: 'drop', reason: 'unknown' },
    ]);
    expect(queue.ready(99, 2)).toBe('request');
  });

  it('request a start grant again after a revocation', () => {
    const queue = queueWith(1);
    sendAll(queue);
    queue.ready(1, 2);
    expect(queue.grantAnswered(1, 'revoke', 'newer')).toEqual([{ id: 1, answer: 'revoke', reason: 'newer' }]);
    expect(queue.ready(1, 3)).toBe('request');
  });

  it('are not sent for a transaction that started without an offer', () => {
    const queue = queueWith(1);
    queue.started(1);
    queue.started(2);
    expect(queue.add(2, 2)).toBe(false);
    expect(sendAll(queue)).toEqual([]);
    expect(queue.ready(1, 2)).toBe('request');
  });

  it('are removed if they are withdrawn before they are sent, and dropped if they are unanswered', () => {
    const queue = queueWith(1, 2);
    queue.next(1);
    expect(queue.withdraw([1, 2], 'canceled')).toEqual([{ id: 1, answer: 'drop', reason: 'canceled' }]);
    expect(queue.idle).toBe(true);
  });

  it('are dropped after the answer if they are withdrawn during the request', () => {
    const queue = queueWith(1);
    sendAll(queue);
    queue.ready(1, 2);
    expect(queue.withdraw([1], 'canceled')).toEqual([]);
    // The grant was given before the cancellation.
    expect(queue.grantAnswered(1, 'start', '')).toEqual([{ id: 1, answer: 'drop', reason: 'canceled' }]);
  });

  it('are dropped once if they are withdrawn after their start, or while a start waits for its order', () => {
    const queue = queueWith(1, 2, 3);
    sendAll(queue);
    for (const id of [1, 2, 3]) queue.ready(id, 2);
    queue.grantAnswered(1, 'start', '');
    queue.grantAnswered(3, 'start', '');
    queue.started(4);
    expect(queue.withdraw([1, 3, 4, 5], 'reset')).toEqual([
      { id: 1, answer: 'drop', reason: 'reset' },
      { id: 4, answer: 'drop', reason: 'reset' },
    ]);
    expect(queue.grantAnswered(2, 'start', '')).toEqual([
      { id: 2, answer: 'start', reason: '' },
      { id: 3, answer: 'drop', reason: 'reset' },
    ]);
    expect(queue.withdraw([1, 3, 4], 'reset')).toEqual([]);
  });

  it('report when the oldest offer without a ready was sent', () => {
    const queue = queueWith(1, 2);
    queue.next(100);
    queue.next(200);
    expect(queue.oldestUnansweredMs()).toBe(100);
    queue.ready(1, 300);
    expect(queue.oldestUnansweredMs()).toBe(200);
    queue.ready(2, 300);
    expect(queue.oldestUnansweredMs()).toBeUndefined();
  });

  it('have a limit for unanswered and for remembered ones', () => {
    const queue = queueWith(...Array.from({ length: limits.maxInFlightOffers + 5 }, (_, i) => i + 1));
    expect(sendAll(queue)).toHaveLength(limits.maxInFlightOffers);
    queue.ready(1, 2);
    queue.grantAnswered(1, 'start', '');
    expect(sendAll(queue)).toEqual([limits.maxInFlightOffers + 1]);
    const long = queueWith();
    for (let id = 1; id <= limits.maxRememberedOffers + 1; id += 1) {
      long.ready(id, 1);
      long.grantAnswered(id, 'start', '');
    }
    expect(long.add(2, 2)).toBe(false);
    expect(long.add(1, 1)).toBe(true);
  });
});
