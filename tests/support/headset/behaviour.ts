/** Points at which a headset can be made to die, between receiving and being acknowledged. */
export const deathPoints = ['received', 'ready-sent', 'started', 'effect-done', 'result-sent'] as const;
/** Further points: of an update, between its first bytes and its last; of an upload, when it is stored. */
export const transferDeathPoints = ['loading', 'uploaded'] as const;
export type DeathPoint = (typeof deathPoints)[number] | (typeof transferDeathPoints)[number];

/**
 * How a headset answers. `wrong-id`: it first answers for `wrongId` (an unknown transaction, or
 * another device's), then as usual.
 */
export const answerModes = ['normal', 'late', 'twice', 'wrong-id', 'never'] as const;
export type AnswerMode = (typeof answerModes)[number];

/** Of progress reports. `backwards`: each is followed by one that tells of less. */
export const progressModes = ['normal', 'twice', 'backwards', 'never'] as const;
export type ProgressMode = (typeof progressModes)[number];

/** What a test can change about a headset while it runs. */
export interface Behaviour {
  /** Of offers (ready). */
  ready: AnswerMode;
  /** Of starts (result). */
  result: AnswerMode;
  /** For `late`; milliseconds. */
  delayMs: number;
  /** For `wrong-id`. */
  wrongId: number;
  /** How long the work of a transaction takes (of an update: its installation); milliseconds. */
  effectMs: number;
  /** False: results say failure, and nothing takes place. */
  succeeds: boolean;
  /** Whether the called app answers by itself. */
  appAnswer: boolean;
  appAnswerText: string;
  appAnswerData: string;
  /** When the app answers, after the result; milliseconds. */
  appAnswerDelayMs: number;
  /** How far the headset's own clock is off; milliseconds. */
  skewMs: number;
  progress: ProgressMode;
  /** Between two progress reports of an update; milliseconds. */
  progressIntervalMs: number;
  /** How fast updates are loaded; bytes a second, 0: as fast as they come. */
  downloadBytesPerSecond: number;
  /** Cuts the load of an update when so many bytes are there; 0: never. */
  cutDownloadAtBytes: number;
  /** So many loads, from now on, have a wrong byte. */
  corruptDownloads: number;
  /** The wait after a cut load, doubled each time up to 30 s; milliseconds. */
  downloadRetryMs: number;
  /** An update of which no byte came for so long, while addresses were there, has failed; milliseconds. */
  downloadPatienceMs: number;
  /** How long a reset keeps the headset away; milliseconds. */
  resetMs: number;
  /** The result of a reset is forgotten: the next hello no longer holds the transaction. */
  loseResetResult: boolean;
  /** Connectivity results bear this statusCode, whatever took place; 0: the right one. */
  statusCode: number;
  /** Connectivity results carry no ConnectivityResult. */
  withoutConnectivity: boolean;
  /** Bluetooth devices that connect or disconnect are reported by the headset itself. */
  connectionNotices: boolean;
}

export const normalBehaviour: Behaviour = {
  ready: 'normal',
  result: 'normal',
  delayMs: 1000,
  wrongId: 999_999_999,
  effectMs: 0,
  succeeds: true,
  appAnswer: false,
  appAnswerText: 'done',
  appAnswerData: '',
  appAnswerDelayMs: 0,
  skewMs: 0,
  progress: 'normal',
  progressIntervalMs: 10_000,
  downloadBytesPerSecond: 0,
  cutDownloadAtBytes: 0,
  corruptDownloads: 0,
  downloadRetryMs: 1000,
  downloadPatienceMs: 3_600_000,
  resetMs: 0,
  loseResetResult: false,
  statusCode: 0,
  withoutConnectivity: false,
  connectionNotices: false,
};

/** The behaviour itself. Throws an Error that names what is not one. */
export function checkedBehaviour(behaviour: Partial<Behaviour>): Partial<Behaviour> {
  for (const [key, value] of Object.entries(behaviour)) {
    const known = (normalBehaviour as unknown as Record<string, unknown>)[key];
    if (known === undefined) throw new Error(`no behaviour is named ${key}`);
    if (typeof known !== typeof value) throw new Error(`${key} must be a ${typeof known}`);
  }
  return behaviour;
}

/** Answers as `mode` says; `send` is given the wrong id when that is what to answer for. */
export function answer(mode: AnswerMode, behaviour: Behaviour, send: (wrongId?: number) => void): void {
  switch (mode) {
    case 'never':
      return;
    case 'late':
      setTimeout(() => send(), behaviour.delayMs).unref();
      return;
    case 'wrong-id':
      send(behaviour.wrongId);
      break;
    case 'twice':
      send();
      break;
    case 'normal':
      break;
  }
  send();
}
