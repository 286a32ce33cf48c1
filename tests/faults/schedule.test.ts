import type { CrashStep, Fault, Round } from './fault.ts';
import { lineFaults } from './network/relay.ts';
import { planRounds, type Targets } from './schedule.ts';

const names = Array.from({ length: 47 }, (_, i) => `store devices.c${i}`);
const targets: Targets = {
  processes: ['devices', 'transactions', 'gateway'],
  headsets: ['headsets-1', 'headsets-2'],
  writes: names.map((name) => ({ process: 'devices', name, most: name.endsWith('7') ? 1 : 3 })),
  backing: ['mongo', 'kafka'],
  services: [['devices'], ['transactions'], ['gateway', 'gateway-2']],
  lines: ['devices>mongo', 'devices>kafka', 'headsets-1>device-link'],
  partitions: [['gateway>devices', 'devices>gateway']],
  groups: [{ group: 'notifier', topic: 'notifications' }],
  tenants: 2,
  leaseMs: 2000,
};
const steps = (rounds: readonly Round[]): CrashStep[] =>
  rounds.flatMap(({ fault }) => (fault.kind === 'crash' ? fault.steps : []));
const faults = (rounds: readonly Round[]): Fault[] => rounds.flatMap((r) => [r.fault, r.beside ?? []].flat());
const kinds = (rounds: readonly Round[]) => new Set(rounds.map((r) => r.fault.kind));

describe('the schedule of faults', () => {
  it('is the same for the same seed, and different for a different seed', () => {
    expect(planRounds(7, 50, targets)).toEqual(planRounds(7, 50, targets));
    expect(planRounds(7, 50, targets)).not.toEqual(planRounds(8, 50, targets));
  });

  it.each([1, 2, 3, 4, 5])(
    'has a crash at each write and every kind of fault in 20 rounds (seed %i)',
    (seed) => {
      const rounds = planRounds(seed, 20, targets);
      expect(rounds).toHaveLength(20);
      expect(new Set(steps(rounds).map(({ at }) => at.split(' ').slice(1, 3).join(' ')))).toEqual(
        new Set(names),
      );
      expect(kinds(rounds)).toEqual(
        new Set([
          ...['crash', 'kill', 'headsets', 'freeze', 'backing', 'line', 'clock', 'skew'],
          ...['terminate', 'storm', 'poison', 'backlog', 'absence'],
        ]),
      );
    },
  );

  it('crashes before and after writes, at the first write up to the last permitted one', () => {
    const all = steps(planRounds(1, 200, targets)).map(({ at }) => at);
    const counts = (some: readonly string[]) => new Set(some.map((at) => at.slice(-1)));
    expect(counts(all.filter((at) => / store devices\.c\d*7 /.test(at)))).toEqual(new Set(['1']));
    expect(counts(all)).toEqual(new Set(['1', '2', '3']));
    expect(new Set(all.map((at) => at.split(' ')[0]))).toEqual(new Set(['before', 'after']));
  });

  it('freezes for longer than the leases', () => {
    for (const { fault } of planRounds(1, 200, targets)) {
      if (fault.kind === 'freeze') expect(fault.forMs).toBeGreaterThan(targets.leaseMs);
    }
  });

  it('shifts clocks by an hour, forward and back, and kills some processes while their clocks are wrong', () => {
    const clocks = faults(planRounds(1, 200, targets)).filter((f) => f.kind === 'clock');
    expect(new Set(clocks.map((f) => f.stepMs))).toEqual(new Set([3_600_000, -3_600_000]));
    expect(new Set(clocks.map((f) => f.killed))).toEqual(new Set([true, false]));
  });

  it('uses every state of a line, but no state that silences headsets forever', () => {
    const lines = faults(planRounds(1, 2000, targets)).filter((f) => f.kind === 'line');
    const ofHeadsets = (f: (typeof lines)[number]) => f.lines.some((name) => name.startsWith('headsets'));
    const states = (some: typeof lines) => new Set(some.map((f) => f.state.kind));
    expect(states(lines.filter((f) => !ofHeadsets(f)))).toEqual(new Set(lineFaults));
    expect(states(lines.filter(ofHeadsets))).not.toContain('lost');
  });

  it('combines no fault with a fault that must happen alone', () => {
    for (const { fault, beside } of planRounds(1, 300, targets)) {
      if (['crash', 'terminate', 'backlog'].includes(fault.kind)) expect(beside).toBeUndefined();
    }
  });

  it('uses only the requested types of faults, and throws if there is no target', () => {
    const some = planRounds(1, 20, { ...targets, only: ['clock', 'poison'] });
    expect(kinds(some)).toEqual(new Set(['clock', 'poison']));
    expect(() => planRounds(1, 20, { ...targets, groups: [], only: ['poison'] })).toThrow(RangeError);
  });

  it('uses only existing targets', () => {
    const embedded = {
      ...targets,
      backing: [],
      partitions: [],
      groups: [],
      lines: ['headsets-1>device-link'],
    };
    const used = kinds(planRounds(1, 200, embedded));
    for (const kind of ['backing', 'storm', 'poison'] as const) expect(used).not.toContain(kind);
  });
});
