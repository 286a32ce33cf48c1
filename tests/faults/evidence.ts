import type { CallKind } from './judge/operations.ts';
/** What a run recorded from outside; plain data, so that the judge is a pure function of it. */
export interface Evidence {
  readonly calls: readonly CallRecord[];
  /** What the list call answered in the end, of all applications. */
  readonly transactions: readonly ListedTransaction[];
  /** Callbacks in the order of their arrival, repeats included. */
  readonly arrivals: readonly Arrival[];
  /** Lines of the headsets' effects files. */
  readonly effects: readonly Effect[];
  /** What headsets were told to report of themselves. */
  readonly reports: readonly SaidReport[];
  /** Files that headsets were told to upload, and what the storage has. */
  readonly uploads: readonly Upload[];
  readonly storedFiles: readonly { readonly file: string; readonly sha256: string }[];
  /** What was used, what is on record of it, and what is billed for it. */
  readonly spent: readonly SpentUsage[];
  readonly recorded: readonly Usage[];
  readonly bills: readonly Billed[];
  readonly settings: readonly FinalSetting[];
  readonly applications: readonly ApplicationStanding[];
  /** Devices whose headset's apps answer commands by themselves. */
  readonly answeringDevices: readonly string[];
  /** Packages that developers uploaded, and those that are deliverable. */
  readonly packages: readonly Package[];
  readonly deliverable: readonly Package[];
  /** Webhooks that Sora sent until they were taken, of the kinds that integrators get. */
  readonly soraEvents: readonly SoraEvent[];
  readonly recordings: readonly Recording[];
  /** What was put into the storage of recordings, in the order in which it ended there. */
  readonly storedParts: readonly StoredPart[];
  /** Every attempt to put something there, in the order in which they began. */
  readonly puts: readonly Put[];
  /** When whoever uploads recordings was killed, frozen, or without its database. */
  readonly interruptions: readonly Interruption[];
  /** Ids of recordings whose upload was cut by its own lease, which had run out; one for each time. */
  readonly lapsedUploads: readonly string[];
  /** Devices whose activation never changed during the run. */
  readonly alwaysActivated: readonly string[];
  /** Every answer from 500 on. */
  readonly serverErrors: readonly ServerError[];
  /** When processes were restarted by SIGTERM and nothing else was broken. */
  readonly restarts: readonly Interruption[];
  /** How processes went that got SIGTERM. */
  readonly terminations: readonly Termination[];
  /** When the wall clock of whoever signs callbacks was wrong. */
  readonly wrongClocks: readonly Interruption[];
  /** The same of anybody. */
  readonly otherClocks: readonly Interruption[];
  /** What was put into topics and is no event, with the groups that read it. */
  readonly poison: readonly { readonly position: string; readonly groups: readonly string[] }[];
  /** Notifications that arrived behind a later one, but whose first attempt had failed before that. */
  readonly triedBefore: readonly string[];
  /** Notifications that went ahead of an earlier one when their time to wait for it was over. */
  readonly impatient: readonly string[];
  /** When an integrator's server failed everything. */
  readonly backlogs: readonly (Interruption & { readonly applicationId: string })[];
  /** Callbacks that were given up, by what operators see. */
  readonly deadDeliveries: readonly DeadDelivery[];
  /** What integrators read of headsets' own reports. */
  readonly readings: readonly Reading[];
  /** What was still open when the waiting ended; empty: nothing. */
  readonly unfinished: readonly string[];
  /** Processes that ended without being told to, while nothing they need was away. */
  readonly ownDeaths: readonly string[];
  /** Events that consumers gave up: nothing that headsets or integrators do here makes one. */
  readonly setAside: readonly SetAside[];
}

export interface SetAside {
  /** topic/partition:offset. */
  readonly position: string;
  readonly group: string;
  readonly error: string;
}

export interface ServerError {
  readonly kind: CallKind;
  readonly status: number;
  readonly atMs: number;
  readonly message: string;
  /** Empty: the answer had none. */
  readonly retryAfter: string;
}

export interface Termination {
  readonly process: string;
  /** Exit code or signal. */
  readonly how: string;
  /** When it had gone, and how long after SIGTERM; milliseconds. */
  readonly atMs: number;
  readonly tookMs: number;
}

export interface DeadDelivery {
  readonly notificationId: string;
  readonly attempts: number;
  readonly ageMs: number;
  readonly lastOutcome: string;
}

/** The location of a device as an application reads it. */
export interface Reading {
  readonly applicationId: string;
  readonly deviceId: string;
  /** As reports give it: latitude, longitude; undefined: null was read. */
  readonly location: string | undefined;
  /** The date that stands beside it; times are milliseconds since 1970. */
  readonly updatedAtMs: number | undefined;
  readonly readAtMs: number;
  /** When the reader began to activate the device; milliseconds since 1970. */
  readonly activatedAtMs: number;
}

/** One call with its repeats under one Idempotency-Key. */
export interface CallRecord {
  readonly key: string;
  readonly kind: CallKind;
  readonly applicationId: string;
  /** Absent of settings. */
  readonly deviceId?: string;
  readonly attempts: number;
  /** Status of the definitive answer; 0: none came. */
  readonly status: number;
  readonly transactionId?: number;
  readonly canceledIds?: readonly number[];
  /** Of settings: what was set. */
  readonly setting?: { readonly field: string; readonly value: string };
  /** Order in which the definitive answers came. */
  readonly order: number;
  /** Of a refusal. */
  readonly message?: string;
}

export interface ListedTransaction {
  readonly applicationId: string;
  readonly transactionId: number;
  readonly deviceId: string;
  readonly transactionStatus: string;
  readonly operationId: string;
}

/** An effect as the headset noted it. */
export interface Effect {
  readonly deviceId: string;
  readonly transactionId: number;
  /** The operationId. */
  readonly operation: string;
}

/** Something a headset was told to say or do; `taken`: it has confirmed that it keeps it. */
interface Told {
  readonly applicationId: string;
  readonly deviceId: string;
  readonly taken: boolean;
}

export interface SaidReport extends Told {
  /** Of the notification that it becomes. */
  readonly operationId: string;
  /** What the integrator reads in it (judge/reports.ts). */
  readonly value: string;
  /** When it was told to, and when it had confirmed; milliseconds since 1970. */
  readonly atMs: number;
}

export interface Upload extends Told {
  readonly file: string;
  /** Of its content, hexadecimal. */
  readonly sha256: string;
}

/** A time of use; empty deviceId: none is known. */
export interface Usage {
  readonly applicationId: string;
  readonly deviceId: string;
  readonly kind: 'video' | 'speech';
  /** Unique in a run. */
  readonly durationMs: number;
}

export interface SpentUsage extends Usage, Told {}

/** One amount of a bill. */
export interface Billed {
  readonly applicationId: string;
  readonly deviceId: string;
  readonly kind: 'video' | 'speech';
  readonly hours: number;
}

export interface Package {
  readonly applicationId: string;
  readonly package: string;
  readonly version: string;
}

export interface SoraEvent {
  readonly applicationId: string;
  /** Empty: the connection named none. */
  readonly deviceId: string;
  readonly event: string;
  readonly channelId: string;
  readonly connectionId: string;
}

/** A recording of one connection. */
export interface Recording {
  readonly applicationId: string;
  readonly channelId: string;
  readonly metaFile: RecordedFile;
  readonly jsonFile: RecordedFile;
  readonly webmFile: RecordedFile;
}

export interface RecordedFile {
  readonly file: string;
  /** SHA-256 of each part, hexadecimal; of a file that is sent whole there is one. */
  readonly parts: readonly string[];
}

export interface Put {
  readonly file: string;
  /** From 1; 0: the whole file. */
  readonly partNumber: number;
  readonly atMs: number;
}

export interface StoredPart {
  readonly file: string;
  /** Empty: the whole file. */
  readonly uploadId: string;
  readonly partNumber: number;
  readonly sha256: string;
  readonly tag: string;
}

/** Milliseconds since 1970. */
export interface Interruption {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Arrival {
  readonly webhookId: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly verified: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: callbacks of every shape
  readonly body: any;
}

export interface FinalSetting {
  readonly applicationId: string;
  readonly field: string;
  readonly value: string | null;
}

export interface ApplicationStanding {
  readonly applicationId: string;
  /** Slots in use, by the contract. */
  readonly slots: number;
  /** Devices that it has activated, by the registry. */
  readonly activatedDevices: readonly string[];
  /** Devices whose activation the clients changed one call after the other. */
  readonly devices: readonly string[];
}
