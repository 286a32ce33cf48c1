import { type FailpointStep, planRounds, type Round, type Targets } from './schedule.ts';

const names = Array.from({ length: 47 }, (_, i) => `devices.step${i}`);
const targets: Targets = {
  processes: ['devices', 'transactions', 'gateway'],
  headsets: ['headsets-1', 'headsets-2'],
  failpoints: names.map((name) => ({ process: 'devices', name, rare: name.endsWith('7') })),
  backing: ['mongo', 'kafka'],
  leaseMs: 2000,
};
const steps = (rounds: readonly Round[]): FailpointStep[] =>
  rounds.flatMap(({ fault }) => (fault.kind === 'failpoint' ? fault.steps : []));
const kinds = (rounds: readonly Round[]) => new Set(rounds.map((r) => r.fault.kind));

describe('the schedule of faults', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(planRounds(7, 50, targets)).toEqual(planRounds(7, 50, targets));
    expect(planRounds(7, 50, targets)).not.toEqual(planRounds(8, 50, targets));
  });

  it.each([1, 2, 3, 4, 5])(
    'reaches every failpoint and every kind of fault in 20 rounds (seed %i)',
    (seed) => {
      const rounds = planRounds(seed, 20, targets);
      expect(rounds).toHaveLength(20);
      expect(new Set(steps(rounds).map((s) => s.name))).toEqual(new Set(names));
      expect(kinds(rounds)).toEqual(new Set(['failpoint', 'kill', 'headsets', 'freeze', 'backing']));
    },
  );

  it('asks of what is rare that it happens once, and of the rest up to three times', () => {
    const counts = steps(planRounds(1, 200, targets));
    expect(new Set(counts.filter((s) => s.name.endsWith('7')).map((s) => s.count))).toEqual(new Set([1]));
    expect(new Set(counts.map((s) => s.count))).toEqual(new Set([1, 2, 3]));
  });

  it('freezes for longer than the leases', () => {
    for (const { fault } of planRounds(1, 200, targets)) {
      if (fault.kind === 'freeze') expect(fault.forMs).toBeGreaterThan(targets.leaseMs);
    }
  });

  it('leaves MongoDB and Kafka alone where none was started', () => {
    expect(kinds(planRounds(1, 200, { ...targets, backing: [] }))).not.toContain('backing');
  });
});
