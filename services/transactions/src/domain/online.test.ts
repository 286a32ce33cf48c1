import { resetOperation } from './forms/operations.ts';
import { isGone, judgeOnline, type OpenTransaction } from './online.ts';
import { cancelMessages } from './state.ts';

const open = (id: number, over: Partial<OpenTransaction> = {}): OpenTransaction => ({
  id,
  status: 'published',
  operationId: 'put-v1-applications-devices-commands',
  subject: '',
  activationEpoch: 3,
  attempts: 0,
  sentEpoch: 0,
  ...over,
});
const session = {
  epoch: 7,
  held: new Map<number, boolean>(),
  floor: { epoch: 0, message: '' },
  retryLimit: 5,
};

describe('judging what a headset gets when it comes online', () => {
  it('offers the latest of each operation and cancels the older ones', () => {
    const judged = judgeOnline(
      [open(3), open(1), open(2, { operationId: 'post-v1-applications-devices' })],
      session,
    );
    expect(judged.offer.map((o) => o.id)).toEqual([2, 3]);
    expect(judged.cancel).toEqual([{ id: 1, message: cancelMessages.newer }]);
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
    expect(judged.cancel).toEqual([{ id: 1, message: cancelMessages.newer }]);
  });

  it('counts a retry only when an earlier session had it and the headset does not hold it', () => {
    const lost = open(1, { sentEpoch: 6, attempts: 1 });
    expect(judgeOnline([lost], session).offer).toEqual([{ id: 1, attempts: 2 }]);
    expect(judgeOnline([lost], { ...session, held: new Map([[1, false]]) }).offer).toEqual([
      { id: 1, attempts: 1 },
    ]);
    expect(judgeOnline([open(1, { sentEpoch: 7, attempts: 1 })], session).offer).toEqual([
      { id: 1, attempts: 1 },
    ]);
    expect(judgeOnline([open(1, { sentEpoch: 0 })], session).offer).toEqual([{ id: 1, attempts: 0 }]);
  });

  it('cancels at the retry limit', () => {
    const judged = judgeOnline([open(1, { sentEpoch: 6, attempts: 4 })], session);
    expect(judged).toEqual({ offer: [], cancel: [{ id: 1, message: cancelMessages.retryLimit }] });
  });

  it('leaves what the headset has finished to its report', () => {
    const judged = judgeOnline([open(1), open(2)], { ...session, held: new Map([[1, true]]) });
    expect(judged.cancel).toEqual([]);
    expect(judged.offer.map((o) => o.id)).toEqual([2]);
  });

  describe('an accepted reset', () => {
    const reset = (id: number, over: Partial<OpenTransaction> = {}) =>
      open(id, { operationId: resetOperation, status: 'accepted', sentEpoch: 6, ...over });

    it('is offered again while the headset holds it, however often, and counts no retry', () => {
      const held = new Map([[1, false]]);
      for (const attempts of [0, 5, 99]) {
        expect(judgeOnline([reset(1, { attempts })], { ...session, held })).toEqual({
          offer: [{ id: 1, attempts }],
          cancel: [],
        });
      }
    });

    it.each<[string, ReadonlyMap<number, boolean>, number]>([
      ['a headset that comes back without it', new Map(), 6],
      ['a headset that has finished it', new Map([[1, true]]), 6],
      ['the session that was given it', new Map(), 7],
    ])('is neither sent again nor canceled for %s', (_, held, sentEpoch) => {
      const at = { ...session, held, retryLimit: 1 };
      expect(judgeOnline([reset(1, { sentEpoch, attempts: 9 })], at)).toEqual({ offer: [], cancel: [] });
    });

    it('neither supersedes another one nor is superseded', () => {
      const judged = judgeOnline(
        [reset(1), reset(2, { status: 'published', sentEpoch: 0 }), reset(3)],
        session,
      );
      expect(judged).toEqual({ offer: [{ id: 2, attempts: 0 }], cancel: [] });
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
    const judged = judgeOnline([open(1, reset), open(2, { ...reset, attempts: 4 })], session);
    expect(judged).toEqual({
      offer: [],
      cancel: [
        { id: 1, message: cancelMessages.newer },
        { id: 2, message: cancelMessages.retryLimit },
      ],
    });
  });

  it.each([
    [5, new Map(), true],
    [5, new Map([[1, false]]), false],
    [5, new Map([[1, true]]), false],
    [7, new Map(), false],
    [8, new Map(), false],
    [0, new Map(), false],
  ])('one written to session %d is gone for session 7 where it is not held (%#)', (sentEpoch, held, gone) => {
    expect(isGone({ id: 1, sentEpoch }, { epoch: 7, held })).toBe(gone);
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
