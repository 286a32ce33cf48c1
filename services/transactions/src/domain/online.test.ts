import { resetOperation } from './forms/operations.ts';
import {
  type Held,
  type HeldAs,
  isMissing,
  type OnlineSession,
  type OpenTransaction,
  reconcileAgain,
  reconcileOnline,
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
  cancelRequested: '',
  ...over,
});
const now = 10_000_000;
const session: OnlineSession = {
  epoch: 7,
  held: new Map(),
  knowsRevoke: true,
  afterUnresponsive: false,
  minimumEpoch: { epoch: 0, message: '' },
  superseded: new Set(),
  retryLimit: 5,
  retryIntervalMs: 60_000,
  now,
};
const held = (entries: Record<number, HeldAs>): Held =>
  new Map(Object.entries(entries).map(([id, as]) => [Number(id), as]));
const nothing = { offer: [], start: [], revoke: [], keep: [], cancel: [] };

describe('reconciliation of a device’s transactions when its session starts', () => {
  it('offers the latest of each operation and cancels the older ones', () => {
    const reconciled = reconcileOnline(
      [open(3), open(1), open(2, { operationId: 'post-v1-applications-devices' })],
      session,
    );
    expect(reconciled.offer.map((o) => o.id)).toEqual([2, 3]);
    expect(reconciled.cancel).toEqual([{ id: 1, message: cancelMessages.newer, sentEpoch: 0 }]);
  });

  // proves api/4/latest-updates
  it('determines the latest update per package and version', () => {
    const app = 'put-v1-applications-devices-apps';
    const reconciled = reconcileOnline(
      [
        open(1, { operationId: app, subject: 'a@1' }),
        open(2, { operationId: app, subject: 'a@2' }),
        open(3, { operationId: app, subject: 'b@1' }),
        open(4, { operationId: app, subject: 'a@1' }),
        open(5, { operationId: 'put-v1-applications-devices-firmware', subject: 'a@1' }),
      ],
      session,
    );
    expect(reconciled.offer.map((o) => o.id)).toEqual([2, 3, 4, 5]);
    expect(reconciled.cancel).toEqual([{ id: 1, message: cancelMessages.newer, sentEpoch: 0 }]);
  });

  describe('a retry', () => {
    const mark = (t: OpenTransaction, over: Partial<OnlineSession> = {}) => {
      const { offer, start } = reconcileOnline([t], { ...session, ...over });
      return [...offer, ...start][0];
    };
    const counted = (attempts: number) => ({ id: 1, attempts, countedAtMs: now });

    it('counts if the transaction was sent to an earlier session, even if the headset still holds it', () => {
      const sent = open(1, { sentEpoch: 6, attempts: 1 });
      expect(mark(sent)).toEqual(counted(2));
      expect(mark(sent, { held: held({ 1: 'offered' }) })).toEqual(counted(2));
      expect(mark(open(1, { sentEpoch: 0 }))).toEqual({ id: 1, attempts: 0 });
    });

    it('counts once if the same session is reconciled again', () => {
      expect(mark(open(1, { sentEpoch: 7, attempts: 1 }))).toEqual({ id: 1, attempts: 1 });
    });

    it('counts once within the interval; a time in the future does not prevent it', () => {
      const at = (countedAtMs: number) => open(1, { sentEpoch: 6, attempts: 1, countedAtMs });
      expect(mark(at(now - 59_999))).toEqual({ id: 1, attempts: 1 });
      expect(mark(at(now - 60_000))).toEqual(counted(2));
      expect(mark(at(now + 1))).toEqual(counted(2));
    });

    it('does not count if the transaction advanced further than before', () => {
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

  it('retries up to the limit, then cancels', () => {
    const last = reconcileOnline([open(1, { sentEpoch: 6, attempts: 4 })], session);
    expect(last.offer).toMatchObject([{ id: 1, attempts: 5 }]);
    const over = reconcileOnline([open(1, { sentEpoch: 6, attempts: 5 })], session);
    expect(over).toEqual({
      ...nothing,
      cancel: [{ id: 1, message: cancelMessages.retryLimit, sentEpoch: 6 }],
    });
  });

  it('does nothing for a transaction that the headset has finished, because its report ends it', () => {
    const reconciled = reconcileOnline(
      [open(1, { sentEpoch: 6, attempts: 5, status: 'accepted' }), open(2)],
      {
        ...session,
        held: held({ 1: 'finished' }),
      },
    );
    expect(reconciled.cancel).toEqual([]);
    expect(reconciled.offer.map((o) => o.id)).toEqual([2]);
  });

  describe('a transaction that the headset may have started', () => {
    const started = (id: number, over: Partial<OpenTransaction> = {}) =>
      open(id, { status: 'accepted', sentEpoch: 6, countedAdvance: 1, ...over });
    const holding = { ...session, held: held({ 1: 'started' }) };

    it('is started again without an offer if it may continue', () => {
      const reconciled = reconcileOnline([started(1)], holding);
      expect(reconciled.start.map((s) => s.id)).toEqual([1]);
      expect(reconciled.offer).toEqual([]);
    });

    it.each([
      ['a newer one', [started(1), open(2)], cancelMessages.newer],
      ['the retry limit', [started(1, { attempts: 5 })], cancelMessages.retryLimit],
      [
        'an earlier cancel request',
        [started(1, { cancelRequested: cancelMessages.newer })],
        cancelMessages.newer,
      ],
    ])('is revoked before it is canceled, because of %s', (_, open, cancelRequested) => {
      const reconciled = reconcileOnline(open, holding);
      expect(reconciled.revoke).toMatchObject([{ id: 1, cancelRequested }]);
      expect(reconciled.cancel).toEqual([]);
      expect(reconciled.start).toEqual([]);
    });

    it('continues at a client that does not support revoke, and ends by its result', () => {
      const reconciled = reconcileOnline([started(1), open(2)], { ...holding, knowsRevoke: false });
      expect(reconciled.start.map((s) => s.id)).toEqual([1]);
      expect(reconciled.cancel).toEqual([]);
    });

    it.each([true, false])(
      'waits if it is not held, because its result may not be consumed yet (revoke: %s)',
      (knowsRevoke) => {
        const at = { ...session, knowsRevoke };
        const manyRetries = started(1, { attempts: 9 });
        for (const t of [
          started(1),
          manyRetries,
          started(1, { cancelRequested: cancelMessages.newer }),
          started(1, { lostEpoch: 6 }),
        ]) {
          expect(reconcileOnline([t, open(2)], at)).toEqual({ ...nothing, offer: [{ id: 2, attempts: 0 }] });
          expect(reconcileAgain([t], at)).toEqual(nothing);
        }
      },
    );

    const both = [
      ['first reconciliation', reconcileOnline],
      ['repeated reconciliation', reconcileAgain],
    ] as const;

    it.each(both)('is offered and counts a retry when it is lost (%s)', (_, reconcile) => {
      const lost = started(1, { lostEpoch: 7 });
      const offered = { ...nothing, offer: [{ id: 1, attempts: 1, countedAtMs: now }] };
      expect(reconcile([lost], session)).toEqual(offered);
      // The hello of an earlier session showed the loss, and the transaction was not sent since.
      expect(reconcile([lost], { ...session, epoch: 9 })).toEqual(offered);
      const justCounted = { ...lost, countedAtMs: now - 1 };
      expect(reconcile([justCounted], session).offer).toEqual([{ id: 1, attempts: 0 }]);
      const unresponsive = { ...session, afterUnresponsive: true };
      expect(reconcile([justCounted], unresponsive).offer).toMatchObject([{ attempts: 1 }]);
      // A session before the session whose hello showed the loss.
      expect(reconcile([lost], { ...session, epoch: 6 }).offer).toEqual(
        reconcile === reconcileAgain ? [] : [{ id: 1, attempts: 0 }],
      );
    });

    it.each(both)(
      'is offered again to a session that may not have received the offer (%s)',
      (_, reconcile) => {
        for (const lostEpoch of [5, 7]) {
          const sent = started(1, { lostEpoch, sentEpoch: 7, attempts: 2 });
          expect(reconcile([sent], session)).toEqual({ ...nothing, offer: [{ id: 1, attempts: 2 }] });
          expect(reconcile([sent], { ...session, epoch: 8 })).toEqual(nothing);
          expect(reconcile([sent], { ...session, epoch: 6 })).toEqual(nothing);
        }
      },
    );

    it.each([
      ['a later transaction', started(1, { lostEpoch: 7 }), cancelMessages.newer, new Set([1])],
      [
        'the retry limit',
        started(1, { lostEpoch: 7, attempts: 5 }),
        cancelMessages.retryLimit,
        new Set<number>(),
      ],
    ])('that is lost must not continue because of %s', (_, lost, message, superseded) => {
      for (const [, reconcile] of both) {
        const reconciled = reconcile([lost], { ...session, superseded });
        expect(reconciled).toMatchObject({ ...nothing, offer: [{ id: 1, cancelRequested: message }] });
        // A client that does not support revoke no longer holds it: canceled.
        const old = { ...session, superseded, knowsRevoke: false };
        expect(reconcile([lost], old)).toEqual({ ...nothing, cancel: [{ id: 1, message, lostEpoch: 7 }] });
        // An earlier cancel request alone is no reason.
        const requested = { ...lost, attempts: 0, cancelRequested: 'x' };
        expect(reconcile([requested], { ...old, superseded: new Set() })).toMatchObject({
          ...nothing,
          offer: [{ id: 1 }],
        });
        // The cancel request is stored once.
        const again = reconcile([{ ...lost, cancelRequested: message }], { ...session, superseded });
        expect(again.offer).toMatchObject([{ id: 1 }]);
        expect(again.offer[0]?.cancelRequested).toBeUndefined();
      }
    });

    it.each(['offered', 'started', 'finished'] as const)(
      'is no longer lost when a hello holds it as %s again',
      (as) => {
        const reconciled = reconcileOnline([started(1, { lostEpoch: 7 })], {
          ...session,
          epoch: 8,
          held: held({ 1: as }),
        });
        const { offer, start, keep } = reconciled;
        expect([...offer, ...start, ...keep]).toMatchObject([{ id: 1, found: true }]);
        expect(keep.length).toBe(as === 'finished' ? 1 : 0);
        expect(reconciled.cancel).toEqual([]);
      },
    );

    it('is canceled at once if the headset holds it as offered only', () => {
      const reconciled = reconcileOnline([started(1), open(2)], { ...session, held: held({ 1: 'offered' }) });
      expect(reconciled.cancel).toEqual([{ id: 1, message: cancelMessages.newer, sentEpoch: 6 }]);
      expect(reconciled.offer.map((o) => o.id)).toEqual([2]);
    });

    it('is canceled at once below the minimum activation epoch, even if it runs', () => {
      const minimumEpoch = { epoch: 4, message: cancelMessages.deactivation };
      expect(reconcileOnline([started(1)], { ...holding, minimumEpoch })).toEqual({
        ...nothing,
        cancel: [{ id: 1, message: minimumEpoch.message }],
      });
    });
  });

  describe('a repeated reconciliation', () => {
    it('offers waiting transactions that were not started, and counts no retry', () => {
      const reconciled = reconcileAgain(
        [open(1, { sentEpoch: 6, attempts: 5 }), open(2), open(3, { status: 'created' })],
        session,
      );
      expect(reconciled.offer).toEqual([
        { id: 1, attempts: 5 },
        { id: 2, attempts: 0 },
        { id: 3, attempts: 0 },
      ]);
      expect(reconciled.cancel).toEqual([]);
    });

    it('offers neither started transactions nor transactions that a newer session has', () => {
      const reconciled = reconcileAgain(
        [open(1, { status: 'accepted', sentEpoch: 7 }), open(2, { sentEpoch: 8 })],
        session,
      );
      expect(reconciled).toEqual(nothing);
    });

    it('cancels transactions below the minimum activation epoch', () => {
      const minimumEpoch = { epoch: 4, message: cancelMessages.reset };
      expect(reconcileAgain([open(1)], { ...session, minimumEpoch }).cancel).toEqual([
        { id: 1, message: cancelMessages.reset },
      ]);
    });
  });

  describe('an accepted reset', () => {
    const reset = (id: number, over: Partial<OpenTransaction> = {}) =>
      open(id, { operationId: resetOperation, status: 'accepted', sentEpoch: 6, ...over });

    it('continues while the headset holds it, and counts no retry', () => {
      for (const attempts of [0, 5, 99]) {
        const continued = [{ id: 1, attempts }];
        expect(
          reconcileOnline([reset(1, { attempts })], { ...session, held: held({ 1: 'started' }) }),
        ).toEqual({
          ...nothing,
          start: continued,
        });
        expect(
          reconcileOnline([reset(1, { attempts })], { ...session, held: held({ 1: 'offered' }) }),
        ).toEqual({
          ...nothing,
          offer: continued,
        });
      }
    });

    it.each<[string, Held, number]>([
      ['a headset that no longer holds it', new Map(), 6],
      ['a headset that has finished it', held({ 1: 'finished' }), 6],
      ['the session that it was sent to', new Map(), 7],
    ])('is neither sent again nor canceled for %s', (_, holds, sentEpoch) => {
      const at = { ...session, held: holds, retryLimit: 1 };
      expect(reconcileOnline([reset(1, { sentEpoch, attempts: 9 })], at)).toEqual(nothing);
    });

    it('neither supersedes another transaction nor is superseded', () => {
      const reconciled = reconcileOnline(
        [reset(1), reset(2, { status: 'published', sentEpoch: 0 }), reset(3)],
        session,
      );
      expect(reconciled).toEqual({ ...nothing, offer: [{ id: 2, attempts: 0 }] });
    });

    it('is canceled below a later minimum activation epoch', () => {
      const minimumEpoch = { epoch: 4, message: cancelMessages.reset };
      expect(reconcileOnline([reset(1)], { ...session, minimumEpoch }).cancel).toEqual([
        { id: 1, message: cancelMessages.reset },
      ]);
    });
  });

  it('treats a reset that was not accepted like any other operation', () => {
    const reset = { operationId: resetOperation, sentEpoch: 6 };
    const reconciled = reconcileOnline([open(1, reset), open(2, { ...reset, attempts: 5 })], session);
    expect(reconciled).toEqual({
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
  ])(
    'a reset sent to session %d is missing in session 7 if it is not held (%#)',
    (sentEpoch, holds, missing) => {
      expect(isMissing({ id: 1, sentEpoch }, { epoch: 7, held: holds })).toBe(missing);
    },
  );

  it('cancels transactions below the minimum activation epoch with its message; they supersede nothing', () => {
    const minimumEpoch = { epoch: 4, message: cancelMessages.deactivation };
    const reconciled = reconcileOnline([open(1), open(2, { activationEpoch: 4 }), open(3)], {
      ...session,
      minimumEpoch,
    });
    expect(reconciled.offer.map((o) => o.id)).toEqual([2]);
    expect(reconciled.cancel).toEqual([
      { id: 1, message: cancelMessages.deactivation },
      { id: 3, message: cancelMessages.deactivation },
    ]);
  });
});
