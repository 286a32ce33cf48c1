import { resetOperation } from './forms/operations.ts';
import {
  type Held,
  type HeldAs,
  isGone,
  judgeAgain,
  judgeOnline,
  type OnlineSession,
  type OpenTransaction,
} from './online.ts';
import { cancelMessages } from './state.ts';

const open = (id: number, over: Partial<OpenTransaction> = {}): OpenTransaction => ({
  id,
  status: 'published',
  operationId: 'put-v1-applications-devices-commands',
  subject: '',
  activationEpoch: 3,
  attempts: 0,
  sentEpoch: 0,
  lostEpoch: 0,
  countedAtMs: 0,
  countedAdvance: 0,
  bestProgress: 0,
  wish: '',
  ...over,
});
const now = 10_000_000;
const session: OnlineSession = {
  epoch: 7,
  held: new Map(),
  knowsRevoke: true,
  afterUnresponsive: false,
  floor: { epoch: 0, message: '' },
  superseded: new Set(),
  retryLimit: 5,
  retryIntervalMs: 60_000,
  now,
};
const held = (entries: Record<number, HeldAs>): Held =>
  new Map(Object.entries(entries).map(([id, as]) => [Number(id), as]));
const nothing = { offer: [], start: [], revoke: [], keep: [], cancel: [] };

describe('judging a device’s transactions when its headset comes online', () => {
  it('offers the latest of each operation and cancels the older ones', () => {
    const judged = judgeOnline(
      [open(3), open(1), open(2, { operationId: 'post-v1-applications-devices' })],
      session,
    );
    expect(judged.offer.map((o) => o.id)).toEqual([2, 3]);
    expect(judged.cancel).toEqual([{ id: 1, message: cancelMessages.newer, sentEpoch: 0 }]);
  });

  // proves api/4/latest-updates
  it('judges the latest per package and version for updates', () => {
    const app = 'put-v1-applications-devices-apps';
    const judged = judgeOnline(
      [
        open(1, { operationId: app, subject: 'a@1' }),
        open(2, { operationId: app, subject: 'a@2' }),
        open(3, { operationId: app, subject: 'b@1' }),
        open(4, { operationId: app, subject: 'a@1' }),
        open(5, { operationId: 'put-v1-applications-devices-firmware', subject: 'a@1' }),
      ],
      session,
    );
    expect(judged.offer.map((o) => o.id)).toEqual([2, 3, 4, 5]);
    expect(judged.cancel).toEqual([{ id: 1, message: cancelMessages.newer, sentEpoch: 0 }]);
  });

  describe('a retry', () => {
    const mark = (t: OpenTransaction, over: Partial<OnlineSession> = {}) => {
      const { offer, start } = judgeOnline([t], { ...session, ...over });
      return [...offer, ...start][0];
    };
    const counted = (attempts: number) => ({ id: 1, attempts, countedAtMs: now });

    it('counts if it was sent to an earlier session, whether the headset kept it or not', () => {
      const sent = open(1, { sentEpoch: 6, attempts: 1 });
      expect(mark(sent)).toEqual(counted(2));
      expect(mark(sent, { held: held({ 1: 'offered' }) })).toEqual(counted(2));
      expect(mark(open(1, { sentEpoch: 0 }))).toEqual({ id: 1, attempts: 0 });
    });

    it('counts once however often the same session is judged', () => {
      expect(mark(open(1, { sentEpoch: 7, attempts: 1 }))).toEqual({ id: 1, attempts: 1 });
    });

    it('counts once in the interval, and again after a clock that was ahead', () => {
      const at = (countedAtMs: number) => open(1, { sentEpoch: 6, attempts: 1, countedAtMs });
      expect(mark(at(now - 59_999))).toEqual({ id: 1, attempts: 1 });
      expect(mark(at(now - 60_000))).toEqual(counted(2));
      expect(mark(at(now + 1))).toEqual(counted(2));
    });

    it('does not count if the transaction got further than ever before', () => {
      const started = { sentEpoch: 6, attempts: 1, status: 'accepted' as const };
      expect(mark(open(1, started), { held: held({ 1: 'started' }) })).toEqual({
        id: 1,
        attempts: 1,
        countedAdvance: 1,
      });
      const lost = { ...started, lostEpoch: 7 };
      expect(mark(open(1, { ...lost, countedAdvance: 1 }))).toEqual(counted(2));
      const loading = { ...lost, countedAdvance: 1.25 };
      expect(mark(open(1, { ...loading, bestProgress: 0.5 }))).toMatchObject({ attempts: 1 });
      expect(mark(open(1, { ...loading, bestProgress: 0.25 }))).toMatchObject({ attempts: 2 });
    });

    it('always counts after a session whose headset did not answer', () => {
      const t = open(1, { sentEpoch: 6, attempts: 1, countedAtMs: now - 1 });
      expect(mark(t, { afterUnresponsive: true })).toMatchObject({ attempts: 2 });
    });
  });

  it('re-delivers up to the limit, and then cancels', () => {
    const last = judgeOnline([open(1, { sentEpoch: 6, attempts: 4 })], session);
    expect(last.offer).toMatchObject([{ id: 1, attempts: 5 }]);
    const over = judgeOnline([open(1, { sentEpoch: 6, attempts: 5 })], session);
    expect(over).toEqual({
      ...nothing,
      cancel: [{ id: 1, message: cancelMessages.retryLimit, sentEpoch: 6 }],
    });
  });

  it('does nothing and counts nothing for a transaction that the headset has finished: its report ends it', () => {
    const judged = judgeOnline([open(1, { sentEpoch: 6, attempts: 5, status: 'accepted' }), open(2)], {
      ...session,
      held: held({ 1: 'finished' }),
    });
    expect(judged.cancel).toEqual([]);
    expect(judged.offer.map((o) => o.id)).toEqual([2]);
  });

  describe('a transaction that the headset may have begun', () => {
    const started = (id: number, over: Partial<OpenTransaction> = {}) =>
      open(id, { status: 'accepted', sentEpoch: 6, countedAdvance: 1, ...over });
    const holding = { ...session, held: held({ 1: 'started' }) };

    it('is started again without an offer if it may continue', () => {
      const judged = judgeOnline([started(1)], holding);
      expect(judged.start.map((s) => s.id)).toEqual([1]);
      expect(judged.offer).toEqual([]);
    });

    it.each([
      ['a newer one', [started(1), open(2)], cancelMessages.newer],
      ['the retry limit', [started(1, { attempts: 5 })], cancelMessages.retryLimit],
      ['an earlier wish', [started(1, { wish: cancelMessages.newer })], cancelMessages.newer],
    ])('is revoked before it is canceled, because of %s', (_, open, wish) => {
      const judged = judgeOnline(open, holding);
      expect(judged.revoke).toMatchObject([{ id: 1, wish }]);
      expect(judged.cancel).toEqual([]);
      expect(judged.start).toEqual([]);
    });

    it('continues at a client that does not know revoke, and ends by its result', () => {
      const judged = judgeOnline([started(1), open(2)], { ...holding, knowsRevoke: false });
      expect(judged.start.map((s) => s.id)).toEqual([1]);
      expect(judged.cancel).toEqual([]);
    });

    it.each([true, false])(
      'waits if it is not held: its result may not be consumed yet (revoke: %s)',
      (knowsRevoke) => {
        const at = { ...session, knowsRevoke };
        const tired = started(1, { attempts: 9 });
        for (const t of [
          started(1),
          tired,
          started(1, { wish: cancelMessages.newer }),
          started(1, { lostEpoch: 6 }),
        ]) {
          expect(judgeOnline([t, open(2)], at)).toEqual({ ...nothing, offer: [{ id: 2, attempts: 0 }] });
          expect(judgeAgain([t], at)).toEqual(nothing);
        }
      },
    );

    const both = [
      ['judged online', judgeOnline],
      ['judged again', judgeAgain],
    ] as const;

    it.each(both)('is offered once it is known to be lost, and counts a retry then (%s)', (_, judge) => {
      const lost = started(1, { lostEpoch: 7 });
      const offered = { ...nothing, offer: [{ id: 1, attempts: 1, countedAtMs: now }] };
      expect(judge([lost], session)).toEqual(offered);
      // An earlier session's hello said so, and the transaction was not sent since.
      expect(judge([lost], { ...session, epoch: 9 })).toEqual(offered);
      const justCounted = { ...lost, countedAtMs: now - 1 };
      expect(judge([justCounted], session).offer).toEqual([{ id: 1, attempts: 0 }]);
      const unresponsive = { ...session, afterUnresponsive: true };
      expect(judge([justCounted], unresponsive).offer).toMatchObject([{ attempts: 1 }]);
      // A session before the one whose hello showed it.
      expect(judge([lost], { ...session, epoch: 6 }).offer).toEqual(
        judge === judgeAgain ? [] : [{ id: 1, attempts: 0 }],
      );
    });

    it.each(both)('is offered again to the session that may not have got the offer (%s)', (_, judge) => {
      for (const lostEpoch of [5, 7]) {
        const sent = started(1, { lostEpoch, sentEpoch: 7, attempts: 2 });
        expect(judge([sent], session)).toEqual({ ...nothing, offer: [{ id: 1, attempts: 2 }] });
        expect(judge([sent], { ...session, epoch: 8 })).toEqual(nothing);
        expect(judge([sent], { ...session, epoch: 6 })).toEqual(nothing);
      }
    });

    it.each([
      ['one that was made later', started(1, { lostEpoch: 7 }), cancelMessages.newer, new Set([1])],
      [
        'the retry limit',
        started(1, { lostEpoch: 7, attempts: 5 }),
        cancelMessages.retryLimit,
        new Set<number>(),
      ],
    ])('that is lost must not continue because of %s', (_, lost, message, superseded) => {
      for (const [, judge] of both) {
        const judged = judge([lost], { ...session, superseded });
        expect(judged).toMatchObject({ ...nothing, offer: [{ id: 1, wish: message }] });
        // A client that cannot be asked does not have it, so it is canceled.
        const old = { ...session, superseded, knowsRevoke: false };
        expect(judge([lost], old)).toEqual({ ...nothing, cancel: [{ id: 1, message, lostEpoch: 7 }] });
        // That it was to be asked before is no reason.
        const wished = { ...lost, attempts: 0, wish: 'x' };
        expect(judge([wished], { ...old, superseded: new Set() })).toMatchObject({
          ...nothing,
          offer: [{ id: 1 }],
        });
        // The wish is stored once.
        const again = judge([{ ...lost, wish: message }], { ...session, superseded });
        expect(again.offer).toMatchObject([{ id: 1 }]);
        expect(again.offer[0]?.wish).toBeUndefined();
      }
    });

    it.each(['offered', 'started', 'finished'] as const)(
      'is found when a hello holds it as %s after all',
      (as) => {
        const judged = judgeOnline([started(1, { lostEpoch: 7 })], {
          ...session,
          epoch: 8,
          held: held({ 1: as }),
        });
        const { offer, start, keep } = judged;
        expect([...offer, ...start, ...keep]).toMatchObject([{ id: 1, found: true }]);
        expect(keep.length).toBe(as === 'finished' ? 1 : 0);
        expect(judged.cancel).toEqual([]);
      },
    );

    it('is canceled at once if the headset holds it as offered only', () => {
      const judged = judgeOnline([started(1), open(2)], { ...session, held: held({ 1: 'offered' }) });
      expect(judged.cancel).toEqual([{ id: 1, message: cancelMessages.newer, sentEpoch: 6 }]);
      expect(judged.offer.map((o) => o.id)).toEqual([2]);
    });

    it('is canceled at once below the floor, even if it runs', () => {
      const floor = { epoch: 4, message: cancelMessages.deactivation };
      expect(judgeOnline([started(1)], { ...holding, floor })).toEqual({
        ...nothing,
        cancel: [{ id: 1, message: floor.message }],
      });
    });
  });

  describe('judged again, a session', () => {
    it('gets waiting transactions that were not started, and counts nothing', () => {
      const judged = judgeAgain(
        [open(1, { sentEpoch: 6, attempts: 5 }), open(2), open(3, { status: 'created' })],
        session,
      );
      expect(judged.offer).toEqual([
        { id: 1, attempts: 5 },
        { id: 2, attempts: 0 },
        { id: 3, attempts: 0 },
      ]);
      expect(judged.cancel).toEqual([]);
    });

    it('gets neither started transactions nor those that a newer session has', () => {
      const judged = judgeAgain(
        [open(1, { status: 'accepted', sentEpoch: 7 }), open(2, { sentEpoch: 8 })],
        session,
      );
      expect(judged).toEqual(nothing);
    });

    it('loses transactions below the floor', () => {
      const floor = { epoch: 4, message: cancelMessages.reset };
      expect(judgeAgain([open(1)], { ...session, floor }).cancel).toEqual([
        { id: 1, message: cancelMessages.reset },
      ]);
    });
  });

  describe('an accepted reset', () => {
    const reset = (id: number, over: Partial<OpenTransaction> = {}) =>
      open(id, { operationId: resetOperation, status: 'accepted', sentEpoch: 6, ...over });

    it('continues while the headset holds it, however often it is judged, and counts no retry', () => {
      for (const attempts of [0, 5, 99]) {
        const going = [{ id: 1, attempts }];
        expect(judgeOnline([reset(1, { attempts })], { ...session, held: held({ 1: 'started' }) })).toEqual({
          ...nothing,
          start: going,
        });
        expect(judgeOnline([reset(1, { attempts })], { ...session, held: held({ 1: 'offered' }) })).toEqual({
          ...nothing,
          offer: going,
        });
      }
    });

    it.each<[string, Held, number]>([
      ['a headset that no longer holds it', new Map(), 6],
      ['a headset that has finished it', held({ 1: 'finished' }), 6],
      ['the session it was sent to', new Map(), 7],
    ])('is neither sent again nor canceled for %s', (_, holds, sentEpoch) => {
      const at = { ...session, held: holds, retryLimit: 1 };
      expect(judgeOnline([reset(1, { sentEpoch, attempts: 9 })], at)).toEqual(nothing);
    });

    it('neither supersedes another one nor is superseded', () => {
      const judged = judgeOnline(
        [reset(1), reset(2, { status: 'published', sentEpoch: 0 }), reset(3)],
        session,
      );
      expect(judged).toEqual({ ...nothing, offer: [{ id: 2, attempts: 0 }] });
    });

    it('ends below a later floor like everything else', () => {
      const floor = { epoch: 4, message: cancelMessages.reset };
      expect(judgeOnline([reset(1)], { ...session, floor }).cancel).toEqual([
        { id: 1, message: cancelMessages.reset },
      ]);
    });
  });

  it('takes a reset that was not accepted like any other operation', () => {
    const reset = { operationId: resetOperation, sentEpoch: 6 };
    const judged = judgeOnline([open(1, reset), open(2, { ...reset, attempts: 5 })], session);
    expect(judged).toEqual({
      ...nothing,
      cancel: [
        { id: 1, message: cancelMessages.newer, sentEpoch: 6 },
        { id: 2, message: cancelMessages.retryLimit, sentEpoch: 6 },
      ],
    });
  });

  it.each([
    [5, new Map(), true],
    [5, held({ 1: 'offered' }), false],
    [5, held({ 1: 'finished' }), false],
    [7, new Map(), false],
    [8, new Map(), false],
    [0, new Map(), false],
  ])('a reset sent to session %d is gone for session 7 if it is not held (%#)', (sentEpoch, holds, gone) => {
    expect(isGone({ id: 1, sentEpoch }, { epoch: 7, held: holds })).toBe(gone);
  });

  it('cancels everything below the floor with its message, and lets it supersede nothing', () => {
    const floor = { epoch: 4, message: cancelMessages.deactivation };
    const judged = judgeOnline([open(1), open(2, { activationEpoch: 4 }), open(3)], { ...session, floor });
    expect(judged.offer.map((o) => o.id)).toEqual([2]);
    expect(judged.cancel).toEqual([
      { id: 1, message: cancelMessages.deactivation },
      { id: 3, message: cancelMessages.deactivation },
    ]);
  });
});
