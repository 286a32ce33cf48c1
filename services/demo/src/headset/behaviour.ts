/** Points between an offer and the acknowledgement of its result, at which a test can kill the headset's process. */
export const deathPoints = ['received', 'ready-sent', 'started', 'effect-done', 'result-sent'] as const;
/**
 * All death points. The README describes them ("Death").
 */
export const allDeathPoints = [
  ...deathPoints,
  ...(['loading', 'installing', 'uploaded', 'revoked', 'erased'] as const),
] as const;
export type DeathPoint = (typeof allDeathPoints)[number];

/** Behaviour of the simulated device, its network and its apps. A test can change it while the headset runs. */
export interface Behaviour {
  /** False: offers are not answered. */
  answersOffers: boolean;
  /** False: started work has no effect and no result. */
  answersStarts: boolean;
  /** Duration of a transaction's work (for an update: of its installation); milliseconds. */
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
  /** Number of coming downloads that contain a wrong byte. */
  corruptDownloads: number;
  /** Wait after an interrupted download, doubled each time up to 30 s; milliseconds. */
  downloadRetryMs: number;
  /** An update fails if no byte arrives for this long. Time without a download URL does not count; milliseconds. */
  downloadPatienceMs: number;
  /** An upload fails if no byte of the request or the response moves for this long; milliseconds. */
  putIdleMs: number;
  /** Offline time of a reset; milliseconds. */
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
