import type { CallKind } from './judge/operations.ts';
/** What a run recorded from outside; plain data, so that the judge is a pure function of it. */
export interface Evidence {
  readonly calls: readonly CallRecord[];
  /** The final response of the list call, for all applications. */
  readonly transactions: readonly ListedTransaction[];
  /** All received callbacks in the order of arrival, repeats included. */
  readonly arrivals: readonly Arrival[];
  /** Lines of the headsets' effects files. */
  readonly effects: readonly Effect[];
  /** What headsets were told to report of themselves. */
  readonly reports: readonly SaidReport[];
  /** Files that headsets were told to upload, and the files in the storage. */
  readonly uploads: readonly Upload[];
  readonly storedFiles: readonly { readonly file: string; readonly sha256: string }[];
  /** The usage, its records, and what is billed for it. */
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
  /** Webhooks that Sora sent until they were accepted; only the kinds that are passed on to integrators. */
  readonly soraEvents: readonly SoraEvent[];
  readonly recordings: readonly Recording[];
  /** Completed uploads to the storage of recordings, in the order of completion. */
  readonly storedParts: readonly StoredPart[];
  /** All attempted uploads to it, in the order of their start. */
  readonly puts: readonly Put[];
  /** Periods in which the process that uploads recordings was killed, frozen, or without its database. */
  readonly interruptions: readonly Interruption[];
  /** Ids of recordings whose upload was stopped because its lease had expired; one entry for each time. */
  readonly lapsedUploads: readonly string[];
  /** Devices whose activation never changed during the run. */
  readonly alwaysActivated: readonly string[];
  /** All responses with status 500 or above. */
  readonly serverErrors: readonly ServerError[];
  /** Periods in which processes were restarted by SIGTERM and no other fault was active. */
  readonly restarts: readonly Interruption[];
  /** How processes ended after SIGTERM. */
  readonly terminations: readonly Termination[];
  /** Periods in which the wall clock of a process that signs callbacks was wrong. */
  readonly wrongClocks: readonly Interruption[];
  /** The same for any process or headset. */
  readonly otherClocks: readonly Interruption[];
  /** Invalid events that were put into topics, with the groups that read them. */
  readonly poison: readonly { readonly position: string; readonly groups: readonly string[] }[];
  /** Notifications that arrived after a later one, although their first attempt was earlier: it failed. */
  readonly triedBefore: readonly string[];
  /** Notifications that overtook an earlier one because their maximum wait for it was over. */
  readonly impatient: readonly string[];
  /** Periods in which an integrator's server failed every callback. */
  readonly backlogs: readonly (Interruption & { readonly applicationId: string })[];
  /** Callbacks that were given up, as operators see them. */
  readonly deadDeliveries: readonly DeadDelivery[];
  /** Callbacks that arrived and that operators do not see. */
  readonly unknownCallbacks: readonly string[];
  /** What readers of the event feeds got; empty: nobody read one. */
  readonly feeds: readonly ReadFeed[];
  /** Callbacks that were replaced or given up, so that they need not have arrived. */
  readonly notDelivered: readonly string[];
  /** State from headsets' reports, as integrators read it. */
  readonly readings: readonly Reading[];
  /** What was still unfinished when the wait at the end was over; empty: nothing. */
  readonly unfinished: readonly string[];
  /** Processes that exited without being told to, while everything they need was available. */
  readonly ownDeaths: readonly string[];
  /** Dead letters. Nothing that headsets or integrators do in this test causes one. */
  readonly setAside: readonly SetAside[];
}

/** The `webhook-id`s of one application's event feed, in its order. */
export interface ReadFeed {
  readonly applicationId: string;
  /** As one reader got them, who followed it during the faults. */
  readonly followed: readonly string[];
  /** As somebody got them who read all of it at the end. */
  readonly again: readonly string[];
  /** Answers that were neither events nor a reason to try again. */
  readonly refusals: readonly string[];
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
  /** Empty: the response had none. */
  readonly retryAfter: string;
  /** The response's X-Request-Id, with which the gateway's log line is found. */
  readonly requestId: string;
}

export interface Termination {
  readonly process: string;
  /** Exit code or signal. */
  readonly how: string;
  /** When it had exited, and how long after SIGTERM; milliseconds. */
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
  /** In the form of reports: latitude, longitude; undefined: null was read. */
  readonly location: string | undefined;
  /** The date of the location in the same response; milliseconds since 1970. */
  readonly updatedAtMs: number | undefined;
  readonly readAtMs: number;
  /** When the reading application began to activate the device; milliseconds since 1970. */
  readonly activatedAtMs: number;
}

/** One call with its repeats under one Idempotency-Key. */
export interface CallRecord {
  readonly key: string;
  readonly kind: CallKind;
  readonly applicationId: string;
  /** Absent for settings. */
  readonly deviceId?: string;
  readonly attempts: number;
  /** Status of the definitive response; 0: none arrived. */
  readonly status: number;
  readonly transactionId?: number;
  readonly canceledIds?: readonly number[];
  /** For settings: the value that was set. */
  readonly setting?: { readonly field: string; readonly value: string };
  /** Position in the order of the definitive responses. */
  readonly order: number;
  /** For a refusal. */
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

/** Something a headset was told to report or do; `taken`: it has confirmed that it stored this. */
interface Told {
  readonly applicationId: string;
  readonly deviceId: string;
  readonly taken: boolean;
}

export interface SaidReport extends Told {
  /** Of the notification that it causes. */
  readonly operationId: string;
  /** The value in the integrator's notification (judge/reports.ts). */
  readonly value: string;
  /** When the headset was told, and when it had confirmed; milliseconds since 1970. */
  readonly atMs: number;
}

export interface Upload extends Told {
  readonly file: string;
  /** Of the content, hexadecimal. */
  readonly sha256: string;
}

/** One period of usage; empty deviceId: the device is not known. */
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
  /** Empty: the connection named no device. */
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
  /** SHA-256 of each part, hexadecimal; one entry for a file that is uploaded as a whole. */
  readonly parts: readonly string[];
}

export interface Put {
  readonly file: string;
  /** From 1; 0: the whole file. */
  readonly partNumber: number;
  readonly atMs: number;
  /** True: its sender went away before the whole body had come. */
  cutOff?: boolean;
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
  /** Slots in use, according to the contract. */
  readonly slots: number;
  /** Devices that the application has activated, according to the registry. */
  readonly activatedDevices: readonly string[];
  /** Devices whose activation the clients changed by sequential calls. */
  readonly devices: readonly string[];
}
