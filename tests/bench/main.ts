import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { realStackMissing } from '@headset-cloud/demo/stack/backing.ts';
import { root } from '@headset-cloud/demo/stack/process.ts';
import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { closeAll } from './lib/cleanup.ts';
import { type Figure, type Report, reached, table } from './lib/figures.ts';
import { createProgress, type Planned } from './lib/progress.ts';
import { readSettings, type Settings } from './lib/settings.ts';
import { measureAgainst } from './measures/against.ts';
import { measureCallbacks } from './measures/callbacks.ts';
import { measureCapacity } from './measures/capacity.ts';
import { measureChannels } from './measures/channels.ts';
import { measureCount } from './measures/count.ts';
import { measureCreate } from './measures/create.ts';
import { measureCrowd } from './measures/crowd.ts';
import { measureFeed } from './measures/feed.ts';
import { measureIdle } from './measures/idle.ts';
import { measureJobs, measureLatency } from './measures/jobs.ts';
import { measureKeyCheck } from './measures/key-check.ts';
import { measurePackageChecks } from './measures/package-checks.ts';
import { measureRecording } from './measures/recording.ts';
import { measureReports } from './measures/reports.ts';
import { measureRetention } from './measures/retention.ts';
import { measureRevoke } from './measures/revoke.ts';
import { measureRpcTls } from './measures/rpc-tls.ts';
import { measureScale } from './measures/scale.ts';
import { measureShares } from './measures/shares.ts';
import { measureSize } from './measures/size.ts';
import { measureStatusList } from './measures/status-list.ts';
import { measureUp } from './measures/up.ts';
import { measureValidation } from './measures/validation.ts';

/**
 * Speed and memory of the platform against their baselines, on this machine, as ratios:
 * `node tests/bench/main.ts [create jobs latency capacity crowd reports idle key-check callbacks up scale feed retention revoke rpc-tls shares status-list validation channels recording package-checks count size against]`, STACK=embedded or real
 * (default: both, where MongoDB and Kafka can be had). Lengths: lib/settings.ts.
 */
const measures: Readonly<Record<string, (kind: StackKind, settings: Settings) => Promise<Report>>> = {
  create: measureCreate,
  jobs: measureJobs,
  latency: measureLatency,
  capacity: measureCapacity,
  crowd: measureCrowd,
  reports: measureReports,
  idle: measureIdle,
  'key-check': measureKeyCheck,
  callbacks: measureCallbacks,
  up: measureUp,
  scale: measureScale,
  feed: measureFeed,
  retention: measureRetention,
  revoke: measureRevoke,
  'rpc-tls': measureRpcTls,
  shares: measureShares,
  'status-list': measureStatusList,
  validation: measureValidation,
  channels: measureChannels,
  recording: measureRecording,
  'package-checks': measurePackageChecks,
  count: measureCount,
  size: measureSize,
  against: measureAgainst,
};

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function chosenMeasures(): string[] {
  const chosen = process.argv.slice(2);
  const unknown = chosen.filter((name) => !(name in measures));
  if (unknown.length > 0) {
    throw new Error(
      `No measure is named ${unknown.join(', ')}. There are: ${Object.keys(measures).join(', ')}.`,
    );
  }
  if (chosen.length > 0) return chosen;
  // With a commit in BENCH_AGAINST only the comparison runs; without a commit there is no comparison.
  return process.env['BENCH_AGAINST'] ? ['against'] : Object.keys(measures).filter((n) => n !== 'against');
}

function chosenStacks(): StackKind[] {
  const { STACK: asked } = process.env;
  const missing = realStackMissing();
  if (asked === 'embedded') return ['embedded'];
  if (asked === 'real') {
    if (missing) throw new Error(`STACK=real needs MongoDB and Kafka. ${missing}`);
    return ['real'];
  }
  if (asked) throw new Error(`STACK is embedded or real, not ${asked}.`);
  if (missing) say(`Only the embedded stack: ${missing}`);
  return missing ? ['embedded'] : ['embedded', 'real'];
}

/** Times are remembered for the settings that they depend on. */
function planned(stack: StackKind, name: string, settings: Settings): Planned {
  const { seconds, runs, idleHeadsets, idleSeconds, idleRuns, recordingBytes, crowdHeadsets, retentionRows } =
    settings;
  const lengths = [
    seconds,
    runs,
    idleHeadsets,
    idleSeconds,
    idleRuns,
    recordingBytes,
    crowdHeadsets,
    retentionRows ?? '',
  ];
  return { key: `${stack} ${name} ${lengths.join(' ')}`, name: `${stack}: ${name}` };
}

async function run(): Promise<void> {
  const settings = readSettings(process.env);
  const names = chosenMeasures();
  const rows: { stack: StackKind; figure: Figure }[] = [];
  let failed = 0;
  const memoryGiB = Math.round(totalmem() / 2 ** 30);
  say(
    `${availableParallelism()} cores (${cpus()[0]?.model.trim()}), ${memoryGiB} GiB, Node ${process.version}; ` +
      `median of ${settings.runs} interleaved runs of ${settings.seconds} s`,
  );
  const stacks = chosenStacks();
  const plan = stacks.flatMap((stack) => names.map((name) => planned(stack, name, settings)));
  const progress = createProgress(plan, join(root, '.cache', 'bench-times.json'), (line) => {
    process.stderr.write(`${line}\n`);
  });
  for (const stack of stacks) {
    for (const name of names) {
      try {
        const measure = async () => measures[name]?.(stack, settings);
        const report = await progress.during(planned(stack, name, settings), measure);
        for (const figure of report?.figures ?? []) rows.push({ stack, figure });
        for (const note of report?.notes ?? []) say(`${stack}: ${note}`);
      } catch (error) {
        // The other measures still run.
        failed += 1;
        say(`${stack}: ${name} could not be measured: ${(error as Error).stack}`);
      }
    }
  }
  if (rows.length > 0) say(`\n${table(rows)}`);
  const missed = rows.filter((row) => reached(row.figure) === false).length;
  const met = rows.filter((row) => reached(row.figure)).length;
  say(`\n${met} goals reached, ${missed} missed, ${failed} measures failed`);
  await closeAll();
  process.exit(failed > 0 || (settings.strict && missed > 0) ? 1 : 0);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void closeAll().then(() => process.exit(130)));
}
await run().catch(async (error: Error) => {
  process.stderr.write(`\n${error.stack}\n`);
  await closeAll();
  process.exit(1);
});
