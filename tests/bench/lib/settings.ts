/** Durations and numbers of runs, from the environment. */
export interface Settings {
  /** Length of one run; seconds. BENCH_SECONDS. */
  readonly seconds: number;
  /** Number of interleaved runs of baseline and platform; the median counts. BENCH_RUNS. */
  readonly runs: number;
  /** Number of headsets in the idle measure. BENCH_IDLE_HEADSETS. */
  readonly idleHeadsets: number;
  /** Time for which idle headsets are measured; seconds. BENCH_IDLE_SECONDS. */
  readonly idleSeconds: number;
  /** Number of interleaved runs of the idle measure, each with fresh processes. BENCH_IDLE_RUNS. */
  readonly idleRuns: number;
  /** Number of headsets in the crowd measure; half of them connect at once. BENCH_CROWD_HEADSETS. */
  readonly crowdHeadsets: number;
  /** Size of the recording; bytes. BENCH_RECORDING_BYTES. */
  readonly recordingBytes: number;
  /** Ended transactions of each platform in the retention measure; default: by stack. BENCH_RETENTION_ROWS. */
  readonly retentionRows: number | undefined;
  /** Events in the large feed of the feed measure. BENCH_FEED_EVENTS. */
  readonly feedEvents: number;
  /** A missed goal fails the run. BENCH_STRICT=1. */
  readonly strict: boolean;
  /** Folder for CPU profiles of the platform's processes; none by default. BENCH_PROFILE. */
  readonly profileDir: string | undefined;
  /** Commit that the measure `against` compares with. BENCH_AGAINST. */
  readonly against: string | undefined;
}

/** Reads the settings. Throws an Error that names a value that is not a positive number. */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const number = (key: string, byDefault: number): number => {
    const value = env[key] ? Number(env[key]) : byDefault;
    if (!(value > 0)) throw new Error(`${key} must be a positive number, not ${env[key]}.`);
    return value;
  };
  return {
    seconds: number('BENCH_SECONDS', 5),
    runs: Math.round(number('BENCH_RUNS', 5)),
    idleHeadsets: Math.round(number('BENCH_IDLE_HEADSETS', 5000)),
    idleSeconds: number('BENCH_IDLE_SECONDS', 20),
    idleRuns: Math.round(number('BENCH_IDLE_RUNS', 1)),
    crowdHeadsets: Math.round(number('BENCH_CROWD_HEADSETS', 10_000)),
    recordingBytes: Math.round(number('BENCH_RECORDING_BYTES', 5 * 2 ** 30)),
    retentionRows: env['BENCH_RETENTION_ROWS'] ? Math.round(number('BENCH_RETENTION_ROWS', 1)) : undefined,
    feedEvents: Math.round(number('BENCH_FEED_EVENTS', 200_000)),
    strict: env['BENCH_STRICT'] === '1',
    profileDir: env['BENCH_PROFILE'] || undefined,
    against: env['BENCH_AGAINST'] || undefined,
  };
}
