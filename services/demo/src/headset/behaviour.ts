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
 * Rules of the protocol page that a headset can be told to break, by name. The value describes what the
 * headset then does; otherwise it follows the page.
 */
export const faultRules = {
  // The session.
  'no-backoff': 'reconnects at once after each end, ignoring every requested wait',
  'welcome-resets-backoff': 'resets its back-off after each welcome',
  'ignores-retry-after': 'backs off, but not as long as retry_after_ms and x-retry-after-ms ask for',
  'reuses-token': 'signs one token for all connections',
  'uncorrected-clock': 'signs tokens and dates reports by its own clock, ignoring corrections by the server',
  'waits-for-welcome-forever': 'waits for ever for a welcome on a connection',
  'reports-before-welcome': 'sends its reports right after hello',
  'corrects-hello-clock': 'sends its corrected clock in hello',
  'no-pings': 'sends no pings',
  'pings-rarely': 'sends a ping each 25 s only',
  'ends-on-unknown': 'ends its session at a message of an unknown kind',
  'ignores-delay':
    'takes the time of a welcome or refusal for the present one, however long it was under way',
  'hides-held': 'lists no held transaction in hello',
  'tells-older-counter': 'always says 0 as its last report id in hello',
  'counts-unnumbered': 'says its last report id in hello although it keeps reports without a number',
  'uses-old-stream': 'handles messages that arrive on a stream after its go_away',
  // Transactions.
  'starts-without-start': 'does the work when it is offered',
  'no-ready-on-repeat': 'answers an offer with ready the first time only',
  'forgets-ids': 'remembers no outcome once its report is acknowledged',
  'resumes-by-itself': 'continues interrupted work after a restart without a new start',
  'start-needs-offer':
    'ignores the start of a transaction that it holds as STARTED if the session had no offer of it',
  'start-repeats-work': 'does the work again when its start comes again',
  'trusts-version': 'considers an update that a restart interrupted as installed if its version is installed',
  'keeps-first-ticket': 'asks for addresses with the first ticket of an artifact',
  'repeats-interrupted': 'repeats the work of unacknowledged transactions after a restart',
  'answers-unknown-start': 'reports a failure for the start of a transaction that it does not hold',
  'works-in-parallel': 'works on several transactions at the same time',
  'overtakes-commands': 'does what is no command and no update at once, whatever waits before it',
  'newest-first': 'works on the last started transaction first',
  'silent-when-done': 'does not answer the start or revoke of a transaction that it remembers as done',
  'ignores-drop': 'does not forget dropped transactions',
  'starts-dropped': 'forgets a dropped transaction, but does its work at a later start',
  'drops-finished': 'forgets a dropped transaction that is finished and not acknowledged',
  'revokes-finished': 'answers revoked for a transaction that has taken effect',
  'ignores-revoke': 'announces that it knows revoke, but never answers one',
  'acts-after-revoke': 'answers revoked, but does the work',
  'starts-revoked': 'does the work of a revoked transaction at a later start',
  'silent-on-unknown-revoke': 'does not answer the revoke of a transaction that it does not hold',
  'acts-on-old-epoch': 'does the work of transactions of an earlier activation',
  'succeeds-unknown': 'reports success for an operation that it does not know',
  'runs-unknown-launch-type': 'starts an activity where it does not know the launch type',
  'answers-twice': 'reports every answer of an app to a command, not only the first',
  'resets-keep-uploads': 'continues uploads whose files a reset has wiped',
  'takes-reset-as-done': 'reports a reset as done, without wiping, if welcome has its id as revision',
  'tells-reset-at-once': 'sends the result of a reset in the session of its start',
  'keeps-uninstalled': 'reports that it has uninstalled an app, and keeps it',
  'uninstalls-anything': 'reports that it has uninstalled an app that is not installed',
  'lists-anything': 'returns a list for a kind of network that has none',
  'interrupted-succeeds': 'reports success for a call that its death interrupted',
  'checks-whole-extras': 'does not check extras of other types than INTEGER and LONG',
  'extras-as-doubles': 'reads every number in the extras as a double',
  // Reports.
  'no-report-repeat': 'never sends a report again, even if it is not acknowledged',
  'new-report-ids-on-repeat': 'sends a report again under a new id',
  'repeats-acknowledged': 'sends acknowledged reports again in each session',
  'ignores-acked-in-welcome': 'sends reports again that are acknowledged by welcome',
  'reports-out-of-order': 'if two reports wait, sends the newer one first',
  'exceeds-window': 'sends more than 256 reports without an acknowledgement',
  'restarts-counter': 'counts its reports from 1 again in each process',
  'keeps-older-counter': 'continues its counter although the cloud has higher report ids',
  'rewrites-epoch': 'sends reports with the epoch at the time of sending',
  'tells-offered-epoch':
    'reports and uploads with the newest epoch that an offer has told, not that of the activation it has taken',
  'stores-whole-texts': 'stores texts of any length',
  'numbers-at-once': 'numbers reports before the first welcome',
  'dates-again': 'reports a remembered end with the present time and epoch',
  'no-inventory': 'does not report changes of firmware, apps or languages',
  // Updates.
  'ignores-wrong-hash': 'installs a file of the right size whatever its SHA-256',
  'loads-again': 'restarts an interrupted load at its first byte',
  'keeps-refused-address': 'never asks for a fresh address',
  'authorizes-downloads': 'sends an Authorization header with a load',
  'no-progress': 'reports no progress',
  'progress-after-result': 'reports progress once after the result',
  'refuses-equal-firmware': 'refuses firmware of the installed version',
  'forgives-ranges': 'does not count a refused range as a failed load',
  'follows-endlessly': 'follows any number of redirects',
  'refused-by-429': 'treats 429 as a refused address',
  'expires-by-own-clock': 'uses its uncorrected clock for the expiry of an address',
  'loads-older-firmware': 'compares the version of firmware only when it is loaded',
  'waits-alike': 'waits equally long after each interruption of a load',
  'downgrades-firmware': 'installs a firmware older than its own',
  'appends-whole': 'appends a whole file to the existing part when the server ignores its range',
  'follows-no-redirect': 'treats a redirect as a refused address',
  'keeps-part': 'keeps the existing part when the server refuses its range',
  'fresh-address-each-time': 'asks for a fresh address after each interruption',
  'uses-expired-address': 'uses an address after its expiry',
  'asks-for-ever': 'asks for addresses for ever, after any refusal',
  'trouble-breaks-row': 'counts refused addresses again after an interruption without a new byte',
  'counts-all-refusals': 'counts all refused addresses of an update, not those in a row',
  'same-request-id': 'uses the same id for all requests for addresses',
  'asks-at-once': 'asks for an address again at once, ignoring the requested wait',
  'never-asks-again': 'does not repeat a request for an address that has no answer in its session',
  'asks-once': 'does not ask again for an address in a new session',
  // Activations.
  'ignores-welcome-activation': 'ignores the activation in welcome',
  'takes-old-activation': 'accepts an activation of an epoch below the newest that it knows',
  'activation-not-erased': 'keeps the data of the former application when another one has the headset',
  'erases-after-break': 'erases everything when the same application has the headset again',
  'no-snapshot': 'reports nothing when another application has the headset',
  'unmarked-snapshot': 'reports everything, but does not mark it as a snapshot',
  'snapshot-first': "reports the snapshot before the ends of the former activation's uploads",
  'finishes-old-load': 'continues loading an update of an earlier epoch than the newest offer',
  'snapshots-again': 'reports a snapshot again for an application that already has the headset',
  // Uploads.
  'asks-all-at-once': 'asks for the addresses of all uploads at once',
  'puts-content-type': 'sends a Content-Type with an upload',
  'no-upload-report': 'does not report the end of an upload',
  'follows-put-redirect': 'follows a redirect of a PUT',
  'repeats-unknown-refusal': 'reports an unknown refusal unchanged',
  'finishes-put': 'finishes the PUT of an upload that has ended with its activation',
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
  /** Offset of the headset's own clock; milliseconds. */
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
  /** An update fails when no byte arrives in this time, without the time in which it has no URL; milliseconds. */
  downloadPatienceMs: number;
  /** An upload fails when no byte of it or of the answer moves for this long; milliseconds. */
  putIdleMs: number;
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
  putIdleMs: 60_000,
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
