import type { Check } from '../faults/verify/check.ts';
import { exercise } from './exercise.ts';
import { type Begun, Findings } from './findings.ts';
import { olderBy, type Seed } from './seeds/environment.ts';
import type { Part, World } from './world.ts';

/** Timeout of waits that never succeed. */
const shortMs = 8000;

interface SeededFault {
  readonly name: string;
  readonly part: Part;
  readonly seed: Seed;
  /** Expected outcome of an exercise with the older process. */
  readonly expects: 'fails' | 'waits';
}

export const seededFaults: readonly SeededFault[] = [
  {
    name: 'an older service that lacks a call is found',
    part: 'transactions',
    seed: { rpc: '/headset.transactions.v1.TransactionsService/CreateTransaction' },
    expects: 'fails',
  },
  {
    name: 'an event that an older service does not know waits for the upgrade',
    part: 'notifier',
    seed: { value: { file: 'notifier/v1/events_pb.ts', schema: 'DestinationSchema', number: 1 } },
    expects: 'waits',
  },
];

/** Runs an exercise with each faulty process. A returned check passes if the fault was detected. */
export async function verifyCanFail(options: {
  world: World;
  begun: Begun[];
  release: string;
  say: (line: string) => void;
}): Promise<Check[]> {
  const { world, release, say } = options;
  const checks: Check[] = [];
  for (const { name, part, seed, expects } of seededFaults) {
    await world.swap(part, 'release', undefined, olderBy(seed, release));
    const findings = new Findings();
    const begun = expects === 'waits' ? options.begun : [];
    const came = await exercise({
      ...{ world, findings, begun, label: `older ${part}` },
      patienceMs: expects === 'waits' ? 60_000 : shortMs,
    }).then(
      (all) => (all ? 'ends' : 'waits'),
      () => 'fails',
    );
    await world.swap(part, 'today');
    const violations = came === expects ? [] : [`the exercise ${came}: ${findings.all.join('; ')}`];
    say(`  ${violations.length > 0 ? 'FAILED' : 'ok    '}  ${name}`);
    checks.push({ name, violations });
  }
  return checks;
}
