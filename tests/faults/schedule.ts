import type { FailpointStep, Fault, Round } from './fault.ts';
import type { LineFault, LineState } from './network/relay.ts';
import { createRandom, type Random } from './random.ts';

/** What there is to break. */
export interface Targets {
  readonly processes: readonly string[];
  /** The processes of each service that restart one after the other. */
  readonly services: readonly (readonly string[])[];
  readonly headsets: readonly string[];
  /** Every failpoint with the process that knows it; `rare`: the load comes there only now and then. */
  readonly failpoints: readonly { readonly process: string; readonly name: string; readonly rare: boolean }[];
  readonly backing: readonly ('mongo' | 'kafka' | 's3')[];
  /** Lines to MongoDB and Kafka, and those of the headsets. */
  readonly lines: readonly string[];
  /** Both lines between two processes that call each other. */
  readonly partitions: readonly (readonly string[])[];
  /** Groups that read a topic of Kafka. */
  readonly groups: readonly { readonly group: string; readonly topic: string }[];
  /** How many integrators there are. */
  readonly tenants: number;
  /** Only these kinds, for who looks for something; absent: all. */
  readonly only?: readonly Fault['kind'][];
  /** Longest lease of the platform's configuration. */
  readonly leaseMs: number;
}

/** Failpoint rounds take this share of all. */
const failpointShare = 0.35;
/** So many rounds reach every failpoint, whatever their number; each failpoint round has as many steps as that takes. */
export const roundsForAll = 20;
/** Of the other rounds, those that have a second fault beside. */
const besideShare = 0.35;
const hourMs = 3_600_000;
/** More than callbacks are tried for at least. */
const absenceHours = 80;

/** What a line of headsets does: who is behind one that stays silent for ever finds out only after half a minute. */
const headsetLineFaults: readonly LineFault[] = ['dropped', 'delayed', 'held', 'half-closed', 'mute'];
const allLineFaults: readonly LineFault[] = [...headsetLineFaults, 'lost'];

/**
 * The rounds of a seed: pure, so that a seed replays them. Failpoints come in turn, each once before
 * any comes again; the other kinds are dealt evenly, and so is what they break.
 */
export function planRounds(seed: number, count: number, targets: Targets): Round[] {
  const random = createRandom(seed, 'schedule');
  const kinds = dealKinds(random, count, targets);
  const failpoints = turns(random, targets.failpoints);
  const perRound = Math.ceil(targets.failpoints.length / failpointRounds(roundsForAll));
  const make = faultMaker(random, targets);
  const steps = (): FailpointStep[] =>
    Array.from({ length: perRound }, failpoints).map(({ rare, ...f }) => ({
      ...f,
      count: rare ? 1 : random.between(1, 3),
    }));
  return kinds.map((kind) => {
    if (kind === 'failpoint') {
      return { fault: { kind, steps: steps() }, restMs: random.between(200, 900) };
    }
    const fault = make(kind);
    const beside =
      mayHaveBeside(kind) && random.chance(besideShare) ? make(random.pick(besideKinds)) : undefined;
    return { fault, ...(beside && { beside }), restMs: random.between(200, 900) };
  });
}

type Kind = Fault['kind'];

/** Mild ones, that may happen beside others. */
const besideKinds = ['clock', 'skew', 'headsets', 'line'] as const satisfies readonly Kind[];

/** What is judged by what nothing else does meanwhile stays alone. */
function mayHaveBeside(kind: Kind): boolean {
  return kind === 'kill' || kind === 'freeze' || kind === 'backing' || kind === 'storm' || kind === 'poison';
}

function failpointRounds(count: number): number {
  return Math.ceil(count * failpointShare);
}

/** How many of each kind, in a seeded order. */
function dealKinds(random: Random, count: number, targets: Targets): Kind[] {
  const others: Kind[] = [
    'kill',
    'clock',
    'freeze',
    'line',
    'terminate',
    'absence',
    'skew',
    'backlog',
    'headsets',
  ];
  if (targets.partitions.length > 0) others.push('line');
  if (targets.backing.length > 0) others.push('backing');
  if (targets.groups.length > 0) others.push('storm', 'poison');
  const { only } = targets;
  if (only) {
    const some = [...new Set(others)].filter((kind) => only.includes(kind));
    if (only.includes('failpoint')) some.push('failpoint');
    if (some.length === 0)
      throw new RangeError(`nothing of these kinds can be broken here: ${only.join(', ')}`);
    return random.shuffled(Array.from({ length: count }, (_, i) => some[i % some.length] as Kind));
  }
  const kinds: Kind[] = Array.from({ length: failpointRounds(count) }, () => 'failpoint');
  for (let i = 0; kinds.length < count; i++) kinds.push(others[i % others.length] as Kind);
  return random.shuffled(kinds);
}

/** Draws faults; each kind takes turns over what it breaks. */
function faultMaker(random: Random, targets: Targets) {
  const processes = turns(random, targets.processes);
  const services = turns(random, targets.services);
  const headsets = turns(random, targets.headsets);
  const backing = turns(random, targets.backing);
  const groups = turns(random, targets.groups);
  const lines = turns(random, [...targets.lines.map((line) => [line]), ...targets.partitions]);
  const beyondLease = () => targets.leaseMs + random.between(300, 1200);
  const sign = () => (random.chance(0.5) ? 1 : -1);
  return (kind: Exclude<Kind, 'failpoint'>): Fault => {
    switch (kind) {
      case 'kill':
        return {
          kind,
          process: processes(),
          ...(random.chance(0.3) && { againAfterMs: random.between(50, 900) }),
        };
      case 'freeze':
        return { kind, process: processes(), forMs: beyondLease() };
      case 'backing':
        return { kind, server: backing(), awayMs: random.between(300, 2000) };
      case 'headsets':
        return { kind, process: headsets() };
      case 'line': {
        const names = lines();
        const ofHeadsets = names.some((name) => targets.headsets.some((h) => name.startsWith(`${h}>`)));
        const state = drawState(random, random.pick(ofHeadsets ? headsetLineFaults : allLineFaults));
        // An answer is swallowed in no time; what is held back or lost outlasts the leases.
        const forMs = state.kind === 'mute' ? random.between(100, 1500) : beyondLease();
        return { kind, lines: names, state, forMs };
      }
      case 'clock':
        return {
          kind,
          process: processes(),
          stepMs: sign() * hourMs,
          forMs: random.between(1000, 2000) + (random.chance(0.3) ? targets.leaseMs : 0),
          killed: random.chance(0.3),
        };
      case 'skew':
        return { kind, process: headsets(), stepMs: sign() * hourMs, forMs: random.between(1000, 3000) };
      case 'absence':
        return {
          kind,
          process: headsets(),
          stepMs: -absenceHours * hourMs,
          forMs: random.between(300, 1500),
        };
      case 'terminate':
        return { kind, processes: services() };
      case 'storm':
        return { kind, ...groups(), forMs: random.between(2000, 4000) };
      case 'poison':
        return { kind, topics: [...new Set(targets.groups.map((g) => g.topic))] };
      case 'backlog':
        return {
          kind,
          tenant: random.between(0, targets.tenants - 1),
          reports: random.between(100, 200),
          forMs: random.between(2000, 4000),
        };
    }
  };
}

function drawState(random: Random, kind: LineFault): LineState {
  return kind === 'delayed' ? { kind, ms: random.between(50, 400) } : { kind };
}

/** Answers the members in a seeded order, each once before any comes again. */
function turns<T>(random: Random, members: readonly T[]): () => T {
  let left: T[] = [];
  return () => {
    if (left.length === 0) left = random.shuffled(members);
    const next = left.pop();
    if (next === undefined) throw new Error('nothing of this kind to break');
    return next;
  };
}
