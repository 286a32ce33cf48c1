import { type HandedOver, Turn } from './turn.ts';

const nothing = () => false;
const one = (id: number, previousId = 0): HandedOver<number> => ({ id, previousId, offer: id });
const ids = (handedOver: readonly HandedOver<number>[]) => handedOver.map(({ id }) => id);

/** Of a session that was judged for everything up to `through`. */
function judged(through: number): Turn<number> {
  const turn = new Turn<number>();
  turn.begin();
  turn.judged(through, false, nothing);
  return turn;
}

describe('the turn of an operation that is handed over', () => {
  it('has come when the session was judged for the one before it, or has it', () => {
    const turn = judged(10);
    expect(turn.take(one(11, 10), false, nothing)).toBe('now');
    expect(turn.take(one(12, 11), false, (id) => id === 11)).toBe('now');
    expect(turn.take(one(1), false, nothing)).toBe('now');
  });

  it('comes with the judgement where the one before it is missing, for it and all behind it', () => {
    const turn = judged(10);
    expect(turn.take(one(13, 12), false, nothing)).toBe('waits');
    expect(turn.take(one(14), false, nothing)).toBe('waits');
    expect(turn.waitingCount).toBe(2);
    turn.begin();
    // The answer had the first one; the other is offered all the same, since only its permit tells.
    expect(ids(turn.judged(14, false, (id) => id === 13))).toEqual([14]);
    expect(turn.waitingCount).toBe(0);
    expect(turn.take(one(15, 14), false, nothing)).toBe('now');
  });

  it('is judged by the answer, for what comes while the judge is asked', () => {
    const turn = judged(10);
    turn.take(one(13, 12), false, nothing);
    turn.begin();
    for (const [id, before] of [
      [14, 13],
      [15, 14],
      [17, 16],
      [18, 17],
    ] as const) {
      expect(turn.take(one(id, before), false, nothing)).toBe('waits');
    }
    expect(ids(turn.judged(13, false, (id) => id === 13))).toEqual([14, 15]);
    expect(turn.waitingCount).toBe(2);
    turn.begin();
    expect(ids(turn.judged(18, false, nothing))).toEqual([17, 18]);
    expect(turn.waitingCount).toBe(0);
  });

  it('waits for the first judgement, and for one that failed', () => {
    const turn = new Turn<number>();
    expect(turn.take(one(1), false, nothing)).toBe('waits');
    turn.begin();
    turn.failed();
    expect(turn.take(one(2), false, nothing)).toBe('waits');
    turn.begin();
    // A judge of an earlier version does not say how far it looked.
    expect(ids(turn.judged(0, false, nothing))).toEqual([1, 2]);
    expect(turn.take(one(3, 2), false, nothing)).toBe('now');
  });

  it('does not come for newer ones once one was refused, until a judgement had room for all', () => {
    const turn = judged(10);
    expect(turn.take(one(11, 10), true, nothing)).toBe('refused');
    expect(turn.take(one(12), false, nothing)).toBe('refused');
    turn.begin();
    expect(turn.take(one(13, 12), false, nothing)).toBe('waits');
    expect(turn.judged(12, true, nothing)).toEqual([]);
    expect(turn.behind).toBe(true);
    expect(turn.take(one(14), false, nothing)).toBe('refused');
    turn.begin();
    expect(turn.take(one(15, 14), true, nothing)).toBe('refused');
    turn.judged(14, false, nothing);
    expect(turn.behind).toBe(true);
    turn.begin();
    turn.judged(15, false, nothing);
    expect(turn.behind).toBe(false);
    expect(turn.take(one(16, 15), false, nothing)).toBe('now');
  });

  it('is forgotten for what is canceled', () => {
    const turn = judged(10);
    turn.take(one(13, 12), false, nothing);
    turn.begin();
    turn.take(one(14), false, nothing);
    turn.take(one(15), false, nothing);
    turn.forget(new Set([13, 14]));
    expect(ids(turn.judged(13, false, nothing))).toEqual([15]);
  });
});
