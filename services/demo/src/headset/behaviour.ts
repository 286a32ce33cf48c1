/** Points at which a test can kill a headset, between receiving a transaction and the acknowledgement. */
export const deathPoints = ['received', 'ready-sent', 'started', 'effect-done', 'result-sent'] as const;
/**
 * All death points; the others are: an update is loading, its installation begins, an upload is stored, the
 * answer to a revoke is durable but not sent, the former application's data is erased and nothing else done.
 */
export const allDeathPoints = [
  ...deathPoints,
  ...(['loading', 'installing', 'uploaded', 'revoked', 'erased'] as const),
] as const;
export type DeathPoint = (typeof allDeathPoints)[number];

/** How the simulated device, its network and its apps behave. A test can change it while the headset runs. */
export interface Behaviour {
  /** False: answers no offer. */
  answersOffers: boolean;
  /** False: the work that was started has no effect and no result. */
  answersStarts: boolean;
  /** How long the work of a transaction takes (for an update: its installation); milliseconds. */
  effectMs: number;
  /** False: results are failures, and there is no effect. */
  succeeds: boolean;
  /** Whether the called app sends its own answer. */
  appAnswer: boolean;
  appAnswerText: string;
  appAnswerData: string;
  /** Offset of the headset's own clock; milliseconds. */
  skewMs: number;
  /** Interval of the progress reports of an update; milliseconds. */
  progressIntervalMs: number;
  /** Download rate of updates; bytes per second, 0: unlimited. */
  downloadBytesPerSecond: number;
  /** Interrupts the download of an update after this many bytes; 0: never. */
  cutDownloadAtBytes: number;
  /** The next this many downloads have a wrong byte. */
  corruptDownloads: number;
  /** The wait after an interrupted download, doubled each time up to 30 s; milliseconds. */
  downloadRetryMs: number;
  /** An update fails when no byte arrives in this time, without the time in which it has no URL; milliseconds. */
  downloadPatienceMs: number;
  /** An upload fails when no byte of it or of the answer moves for this long; milliseconds. */
  putIdleMs: number;
  /** How long a reset keeps the headset offline; milliseconds. */
  resetMs: number;
}

export const normalBehaviour: Behaviour = {
  answersOffers: true,
  answersStarts: true,
  effectMs: 0,
  succeeds: true,
  appAnswer: false,
  appAnswerText: 'done',
  appAnswerData: '',
  skewMs: 0,
  progressIntervalMs: 10_000,
  downloadBytesPerSecond: 0,
  cutDownloadAtBytes: 0,
  corruptDownloads: 0,
  downloadRetryMs: 1000,
  downloadPatienceMs: 3_600_000,
  putIdleMs: 60_000,
  resetMs: 0,
};

/** Returns the behaviour unchanged. Throws an Error that names an invalid setting. */
export function checkedBehaviour(behaviour: Partial<Behaviour>): Partial<Behaviour> {
  for (const [key, value] of Object.entries(behaviour)) {
    const known = (normalBehaviour as unknown as Record<string, unknown>)[key];
    if (known === undefined) throw new Error(`no behaviour is named ${key}`);
    if (typeof known !== typeof value) throw new Error(`${key} must be a ${typeof known}`);
  }
  return behaviour;
}
