import { judgeOnline, type OpenTransaction } from './online.ts';
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

  it('judges the latest per package and version for updates', () => {
    const app = 'put-v1-applications-devices-apps';
    const judged = judgeOnline(
      [open(1, { operationId: app, subject: 'a@1' }), open(2, { operationId: app, subject: 'a@2' })],
      session,
    );
    expect(judged.offer.map((o) => o.id)).toEqual([1, 2]);
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
