/** Points at which a test can kill a headset, between receiving a transaction and the acknowledgement. */
export const deathPoints = ['received', 'ready-sent', 'started', 'effect-done', 'result-sent'] as const;
/**
 * Death points of transfers: while an update is loading, when its installation begins, and when an upload
 * is stored.
 */
export const transferDeathPoints = ['loading', 'installing', 'uploaded'] as const;
/**
 * Death points of changes: the answer to a revoke is durable but not sent; the former application's data is
 * erased, and nothing else is done yet.
 */
export const changeDeathPoints = ['revoked', 'erased'] as const;
export const allDeathPoints = [...deathPoints, ...transferDeathPoints, ...changeDeathPoints] as const;
export type DeathPoint = (typeof allDeathPoints)[number];

/**
 * How a headset answers. `wrong-id`: it first answers for `wrongId` (an unknown transaction, or
 * another device's), then as usual.
 */
export const answerModes = ['normal', 'late', 'twice', 'wrong-id', 'never'] as const;
export type AnswerMode = (typeof answerModes)[number];

/** Modes of progress reports. `backwards`: each is followed by one with a lower value. */
export const progressModes = ['normal', 'twice', 'backwards', 'never'] as const;
export type ProgressMode = (typeof progressModes)[number];

/**
 * Rules of the protocol page that a headset can be told to break, by name. The value says what the headset
 * then does; in all other points it follows the page.
 */
export const faultRules = {
  // The session.
  'no-backoff': 'connects again at once after each end, whatever wait it was asked for',
  'welcome-resets-backoff': 'begins its back-off anew after each welcome',
  'ignores-retry-after': 'backs off, but not as long as retry_after_ms and x-retry-after-ms ask for',
  'uncorrected-clock': 'signs tokens and dates reports by its own clock, whatever the server says',
  'waits-for-welcome-forever': 'never gives up a connection on which no welcome comes',
  'reports-before-welcome': 'sends its reports right after hello',
  'corrects-hello-clock': 'tells its corrected clock in hello',
  'no-pings': 'sends no pings',
  'ends-on-unknown': 'ends its session at a message of an unknown kind',
  'hides-held': 'lists no held transaction in hello',
  'uses-old-stream': 'handles what still comes on a stream that go_away has ended',
  // Transactions.
  'starts-without-start': 'does the work when it is offered',
  'no-ready-on-repeat': 'answers an offer with ready the first time only',
  'forgets-ids': 'remembers no outcome once its report is acknowledged',
  'resumes-by-itself': 'goes on with interrupted work after a restart without a new start',
  'start-needs-offer': 'ignores the start of what it holds as started when there was no offer in the session',
  'start-repeats-work': 'does the work again when its start comes again',
  'trusts-version': 'takes an update that a restart interrupted for installed where its version is there',
  'keeps-first-ticket': 'asks for addresses with the first ticket of an artifact',
  'repeats-interrupted': 'does the work again after a restart for what is not acknowledged',
  'answers-unknown-start': 'reports a failure when it is to start what it does not hold',
  'works-in-parallel': 'does not work on one transaction after the other',
  'newest-first': 'works first on what was started last',
  'silent-when-done': 'answers nothing to start or revoke of what it remembers as done',
  'ignores-drop': 'forgets nothing that is dropped',
  'starts-dropped': 'forgets what is dropped, but does the work when it is told to start it',
  'drops-finished': 'forgets what is finished and not acknowledged when it is dropped',
  'revokes-finished': 'answers revoked for what has taken effect',
  'ignores-revoke': 'says that it knows revoke and never answers one',
  'acts-after-revoke': 'answers revoked and does the work all the same',
  'starts-revoked': 'does the work of what it has revoked when it is told to start it',
  'silent-on-unknown-revoke': 'answers nothing to the revoke of what it does not hold',
  'acts-on-old-epoch': 'does the work of transactions of an earlier activation',
  'succeeds-unknown': 'reports success of an operation that it does not know',
  'runs-unknown-launch-type': 'starts an activity where it does not know the launch type',
  'answers-twice': 'reports each answer of an app, also a second one',
  'resets-keep-uploads': 'goes on with uploads whose files a reset has wiped',
  'lists-anything': 'lists networks of a kind that has no list',
  'extras-as-doubles': 'reads every number of an extra as a double',
  // Reports.
  'no-report-repeat': 'sends a report once only, acknowledged or not',
  'new-report-ids-on-repeat': 'sends a report again under a new id',
  'repeats-acknowledged': 'sends acknowledged reports again in each session',
  'ignores-acked-in-welcome': 'sends again what welcome says is acknowledged',
  'reports-out-of-order': 'sends two reports that wait together the newer one first',
  'exceeds-window': 'sends more than 256 reports without an acknowledgement',
  'restarts-counter': 'counts its reports from 1 again in each process',
  'keeps-older-counter': 'goes on with its counter though the cloud has more reports',
  'rewrites-epoch': 'sends a report with the epoch of its sending',
  'stores-whole-texts': 'stores texts of any length',
  'numbers-at-once': 'numbers reports before the first welcome',
  'dates-anew': 'reports a remembered end with the time and epoch of now',
  'no-inventory': 'tells of no change of firmware, apps or languages',
  // Updates.
  'ignores-wrong-hash': 'installs a file of the right size whatever its SHA-256',
  'loads-anew': 'begins a cut load at its first byte again',
  'keeps-refused-address': 'never asks for a fresh address',
  'authorizes-downloads': 'sends a header of authorization with a load',
  'no-progress': 'reports no progress',
  'progress-after-result': 'reports progress once more after the result',
  'refuses-equal-firmware': 'installs no firmware of the version that it has',
  'forgives-ranges': 'counts a refused range as nothing',
  'follows-endlessly': 'follows any number of redirects',
  'refused-by-429': 'takes 429 for a refusal of the address',
  'expires-by-own-clock': 'looks at its own clock for the time of an address',
  'downgrades-firmware': 'installs a firmware older than its own',
  'appends-whole': 'appends the whole file, where a part was asked for, to the part that is there',
  'follows-no-redirect': 'takes a redirect for a refusal',
  'keeps-part': 'keeps what is there when the server refuses its range',
  'fresh-address-each-time': 'asks for a fresh address after each cut',
  'uses-expired-address': 'uses an address after its time',
  'asks-for-ever': 'asks for addresses for ever, whatever the refusals',
  'same-request-id': 'asks for each address under the same id',
  'asks-at-once': 'asks for an address again at once, whatever wait it was asked for',
  'asks-once': 'does not ask again for an address in a new session',
  // Activations.
  'ignores-welcome-activation': 'learns nothing from the activation in welcome',
  'takes-old-activation': 'takes an activation of an epoch below the newest it knows',
  'activation-not-erased': 'keeps what a former application stored when another one has the headset',
  'erases-after-break': 'erases everything when the same application has the headset again',
  'no-snapshot': 'reports nothing when another application has the headset',
  'unmarked-snapshot': 'reports everything, but does not mark it as a snapshot',
  'snapshots-again': 'reports a snapshot for the application that has the headset already',
  // Uploads.
  'asks-all-at-once': 'asks for the addresses of all uploads at once',
  'puts-content-type': 'sends a Content-Type with an upload',
  'no-upload-report': 'reports no end of an upload',
  'follows-put-redirect': 'puts a file where a redirect leads',
  'repeats-unknown-refusal': 'reports a refusal that it does not know as it came',
  'puts-again': 'puts a file a second time to the address that refused it',
} as const;
export type Fault = keyof typeof faultRules;
export const faultNames = Object.keys(faultRules) as Fault[];

/** The settings of a headset that a test can change while it runs. */
export interface Behaviour {
  /** Rules that it breaks. */
  faults: readonly Fault[];
  /** True: the client knows `revoke` and announces that in hello; false: an old client. */
  knowsRevoke: boolean;
  /** Mode of answers to offers (ready). */
  ready: AnswerMode;
  /** Mode of answers to starts (result). */
  result: AnswerMode;
  /** For `late`; milliseconds. */
  delayMs: number;
  /** For `wrong-id`. */
  wrongId: number;
  /** How long the work of a transaction takes (for an update: its installation); milliseconds. */
  effectMs: number;
  /** False: results are failures, and there is no effect. */
  succeeds: boolean;
  /** Whether the called app sends its own answer. */
  appAnswer: boolean;
  appAnswerText: string;
  appAnswerData: string;
  /** When the app answers, after the result; milliseconds. */
  appAnswerDelayMs: number;
  /** The first report id of an empty store; 0: taken from the corrected clock, as the page says. */
  firstReportId: number;
  /** Error of the headset's own clock; milliseconds. */
  skewMs: number;
  progress: ProgressMode;
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
  /** An update fails when no byte arrives for this long although the headset had URLs; milliseconds. */
  downloadPatienceMs: number;
  /** How long a reset keeps the headset offline; milliseconds. */
  resetMs: number;
  /** The result of a reset is forgotten: the next hello no longer holds the transaction. */
  loseResetResult: boolean;
  /** Connectivity results have this statusCode, whatever happened; 0: the right one. */
  statusCode: number;
  /** Connectivity results carry no ConnectivityResult. */
  withoutConnectivity: boolean;
  /** Bluetooth devices that connect or disconnect are reported by the headset itself. */
  connectionNotices: boolean;
}

export const normalBehaviour: Behaviour = {
  faults: [],
  knowsRevoke: true,
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
  firstReportId: 0,
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

/** Returns the behaviour unchanged. Throws an Error that names an invalid setting. */
export function checkedBehaviour(behaviour: Partial<Behaviour>): Partial<Behaviour> {
  for (const [key, value] of Object.entries(behaviour)) {
    const known = (normalBehaviour as unknown as Record<string, unknown>)[key];
    if (known === undefined) throw new Error(`no behaviour is named ${key}`);
    if (typeof known !== typeof value) throw new Error(`${key} must be a ${typeof known}`);
  }
  const { faults = [] } = behaviour;
  if (!Array.isArray(faults)) throw new Error('faults must be a list');
  for (const fault of faults) if (!(fault in faultRules)) throw new Error(`no fault is named ${fault}`);
  return behaviour;
}

export function breaks(behaviour: Behaviour, fault: Fault): boolean {
  return behaviour.faults.includes(fault);
}

/** Answers as `mode` says; for `wrong-id` it passes the wrong id to `send`. */
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
