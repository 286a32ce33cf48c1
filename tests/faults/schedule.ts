import type { CrashStep, Fault, Round } from './fault.ts';
import type { LineFault, LineState } from './network/relay.ts';
import { createRandom, type Random } from './random.ts';

/** The available targets of faults. */
export interface Targets {
  readonly processes: readonly string[];
  /** The processes of each service, for rolling restarts. */
  readonly services: readonly (readonly string[])[];
  readonly headsets: readonly string[];
  /** Writes of the processes (names: crash-points.ts). `most`: highest count of this write at which to crash. */
  readonly writes: readonly { readonly process: string; readonly name: string; readonly most: number }[];
  readonly backing: readonly ('mongo' | 'kafka' | 's3')[];
  /** Lines to MongoDB and Kafka, and lines of headsets. */
  readonly lines: readonly string[];
  /** Both lines between two processes that call each other. */
  readonly partitions: readonly (readonly string[])[];
  /** Consumer groups of Kafka topics. */
  readonly groups: readonly { readonly group: string; readonly topic: string }[];
  /** Number of integrators. */
  readonly tenants: number;
  /** Only these types of faults, for an investigation; absent: all. */
  readonly only?: readonly Fault['kind'][];
  /** Longest lease of the platform's configuration. */
  readonly leaseMs: number;
}

/** Share of the rounds that are crash rounds. */
const crashShare = 0.35;
/** Number of rounds that include a crash at each write. Each crash round has enough steps for this. */
export const roundsForAll = 20;
/** Share of the other rounds that have a second fault. */
const besideShare = 0.35;
const hourMs = 3_600_000;
/** Longer than the minimum time for which callbacks are retried. */
const absenceHours = 80;

/** States of a headset line, without `lost`: a headset detects a silent connection only after half a minute. */
const headsetLineFaults: readonly LineFault[] = ['dropped', 'delayed', 'held', 'half-closed', 'mute'];
const allLineFaults: readonly LineFault[] = [...headsetLineFaults, 'lost'];

/**
 * Draws the rounds of a seed. It is a pure function, so a seed reproduces the rounds. Each write is used once before
 * any write is repeated. The other types of faults and their targets are distributed evenly.
 */
export function planRounds(seed: number, count: number, targets: Targets): Round[] {
  const random = createRandom(seed, 'schedule');
  const kinds = dealKinds(random, count, targets);
  const writes = turns(random, targets.writes);
  const perRound = Math.ceil(targets.writes.length / crashRounds(roundsForAll));
  const make = faultMaker(random, targets);
  const steps = (): CrashStep[] =>
    Array.from({ length: perRound }, writes).map(({ process, name, most }) => ({
      process,
      at: `${random.pick(['before', 'after'])} ${name} ${random.between(1, most)}`,
    }));
  return kinds.map((kind) => {
    if (kind === 'crash') {
      return { fault: { kind, steps: steps() }, restMs: random.between(200, 900) };
    }
    const fault = make(kind);
    const beside =
      mayHaveBeside(kind) && random.chance(besideShare) ? make(random.pick(besideKinds)) : undefined;
    return { fault, ...(beside && { beside }), restMs: random.between(200, 900) };
  });
}

type Kind = Fault['kind'];

/** Faults that may happen together with another fault. */
const besideKinds = ['clock', 'skew', 'headsets', 'line'] as const satisfies readonly Kind[];

/** False for faults whose checks require the absence of other faults. */
function mayHaveBeside(kind: Kind): boolean {
  return kind === 'kill' || kind === 'freeze' || kind === 'backing' || kind === 'storm' || kind === 'poison';
}

function crashRounds(count: number): number {
  return Math.ceil(count * crashShare);
}

/** Distributes the rounds over the types of faults, in a seeded order. */
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
    if (only.includes('crash')) some.push('crash');
    if (some.length === 0) throw new RangeError(`no target for these types of faults: ${only.join(', ')}`);
    return random.shuffled(Array.from({ length: count }, (_, i) => some[i % some.length] as Kind));
  }
  const kinds: Kind[] = Array.from({ length: crashRounds(count) }, () => 'crash');
  for (let i = 0; kinds.length < count; i++) kinds.push(others[i % others.length] as Kind);
  return random.shuffled(kinds);
}

/** Draws faults. Each type uses its targets in turn. */
function faultMaker(random: Random, targets: Targets) {
  const processes = turns(random, targets.processes);
  const services = turns(random, targets.services);
  const headsets = turns(random, targets.headsets);
  const backing = turns(random, targets.backing);
  const groups = turns(random, targets.groups);
  const lines = turns(random, [...targets.lines.map((line) => [line]), ...targets.partitions]);
  const beyondLease = () => targets.leaseMs + random.between(300, 1200);
  const sign = () => (random.chance(0.5) ? 1 : -1);
  return (kind: Exclude<Kind, 'crash'>): Fault => {
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
        // Dropping an answer needs only a short time; a held or lost line must outlast the leases.
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

/** Returns the members in a seeded order, each once before any is repeated. */
function turns<T>(random: Random, members: readonly T[]): () => T {
  let left: T[] = [];
  return () => {
    if (left.length === 0) left = random.shuffled(members);
    const next = left.pop();
    if (next === undefined) throw new Error('there is no target for this kind of fault');
    return next;
  };
}
