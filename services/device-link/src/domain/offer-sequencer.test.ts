import { type Dispatched, OfferSequencer } from './offer-sequencer.ts';

const nothing = () => false;
const one = (id: number, previousId = 0): Dispatched<number> => ({ id, previousId, offer: id });
const ids = (dispatched: readonly Dispatched<number>[]) => dispatched.map(({ id }) => id);

/** Sequencer of a session that was reconciled up to `through`. */
function reconciled(through: number): OfferSequencer<number> {
  const sequencer = new OfferSequencer<number>();
  sequencer.begin();
  sequencer.reconciled(through, false, nothing);
  return sequencer;
}

describe('a dispatched operation', () => {
  it('is sent now if the session was reconciled for the previous one, or has it', () => {
    const sequencer = reconciled(10);
    expect(sequencer.take(one(11, 10), false, nothing)).toBe('now');
    expect(sequencer.take(one(12, 11), false, (id) => id === 11)).toBe('now');
    expect(sequencer.take(one(1), false, nothing)).toBe('now');
  });

  it('waits for the reconciliation if the previous one is missing, as do all later ones', () => {
    const sequencer = reconciled(10);
    expect(sequencer.take(one(13, 12), false, nothing)).toBe('waits');
    expect(sequencer.take(one(14), false, nothing)).toBe('waits');
    expect(sequencer.waitingCount).toBe(2);
    sequencer.begin();
    // The reconciliation returned only the first one; the other is offered too, because its start grant decides.
    expect(ids(sequencer.reconciled(14, false, (id) => id === 13))).toEqual([14]);
    expect(sequencer.waitingCount).toBe(0);
    expect(sequencer.take(one(15, 14), false, nothing)).toBe('now');
  });

  it('is compared with the answer if it arrives during the reconciliation', () => {
    const sequencer = reconciled(10);
    sequencer.take(one(13, 12), false, nothing);
    sequencer.begin();
    for (const [id, before] of [
      [14, 13],
      [15, 14],
      [17, 16],
      [18, 17],
    ] as const) {
      expect(sequencer.take(one(id, before), false, nothing)).toBe('waits');
    }
    expect(ids(sequencer.reconciled(13, false, (id) => id === 13))).toEqual([14, 15]);
    expect(sequencer.waitingCount).toBe(2);
    sequencer.begin();
    expect(ids(sequencer.reconciled(18, false, nothing))).toEqual([17, 18]);
    expect(sequencer.waitingCount).toBe(0);
  });

  it('waits for the first reconciliation, and for the next one after a failure', () => {
    const sequencer = new OfferSequencer<number>();
    expect(sequencer.take(one(1), false, nothing)).toBe('waits');
    sequencer.begin();
    sequencer.failed();
    expect(sequencer.take(one(2), false, nothing)).toBe('waits');
    sequencer.begin();
    // An earlier version of transactions does not return the last reconciled id.
    expect(ids(sequencer.reconciled(0, false, nothing))).toEqual([1, 2]);
    expect(sequencer.take(one(3, 2), false, nothing)).toBe('now');
  });

  it('is refused after an earlier refusal, until a reconciliation has space for all', () => {
    const sequencer = reconciled(10);
    expect(sequencer.take(one(11, 10), true, nothing)).toBe('refused');
    expect(sequencer.take(one(12), false, nothing)).toBe('refused');
    sequencer.begin();
    expect(sequencer.take(one(13, 12), false, nothing)).toBe('waits');
    expect(sequencer.reconciled(12, true, nothing)).toEqual([]);
    expect(sequencer.behind).toBe(true);
    expect(sequencer.take(one(14), false, nothing)).toBe('refused');
    sequencer.begin();
    expect(sequencer.take(one(15, 14), true, nothing)).toBe('refused');
    sequencer.reconciled(14, false, nothing);
    expect(sequencer.behind).toBe(true);
    sequencer.begin();
    sequencer.reconciled(15, false, nothing);
    expect(sequencer.behind).toBe(false);
    expect(sequencer.take(one(16, 15), false, nothing)).toBe('now');
  });

  it('is removed if it is canceled', () => {
    const sequencer = reconciled(10);
    sequencer.take(one(13, 12), false, nothing);
    sequencer.begin();
    sequencer.take(one(14), false, nothing);
    sequencer.take(one(15), false, nothing);
    sequencer.forget(new Set([13, 14]));
    expect(ids(sequencer.reconciled(13, false, nothing))).toEqual([15]);
  });
});
