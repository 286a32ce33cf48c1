import type { CallKind } from './verify/operations.ts';
/**
 * All data that a run recorded from outside the platform: responses, callbacks, effects on headsets, stored files. The
 * checks (verify/) are pure functions of it.
 */
export interface Evidence {
  readonly calls: readonly CallRecord[];
  /** The final response of the list call, for all applications. */
  readonly transactions: readonly ListedTransaction[];
  /** All received callbacks in the order of arrival, including repeats. */
  readonly arrivals: readonly Arrival[];
  /** Lines of the headsets' effects files. */
  readonly effects: readonly Effect[];
  /** Reports that the load requested from headsets. */
  readonly reports: readonly RequestedReport[];
  /** Uploads that the load requested from headsets, and the files in the storage. */
  readonly uploads: readonly Upload[];
  readonly storedFiles: readonly { readonly file: string; readonly sha256: string }[];
  /** The usage, the usage records, and the bills. */
  readonly spent: readonly SpentUsage[];
  readonly recorded: readonly Usage[];
  readonly bills: readonly Billed[];
  readonly settings: readonly FinalSetting[];
  readonly applications: readonly ApplicationState[];
  /** Devices whose apps send an answer to each command. */
  readonly answeringDevices: readonly string[];
  /** Uploaded packages and deliverable packages. */
  readonly packages: readonly Package[];
  readonly deliverable: readonly Package[];
  /** Accepted webhooks of Sora, only types that integrators receive. */
  readonly soraEvents: readonly SoraEvent[];
  readonly recordings: readonly Recording[];
  /** Completed uploads to the storage of recordings, in the order of completion. */
  readonly storedParts: readonly StoredPart[];
  /** All attempted uploads to the storage of recordings, in the order of their start. */
  readonly puts: readonly Put[];
  /** Periods in which the process that uploads recordings was killed, frozen, or without its database. */
  readonly interruptions: readonly Interruption[];
  /** Ids of recordings whose upload was stopped by an expired lease; one entry per stop. */
  readonly lapsedUploads: readonly string[];
  /** Devices whose activation never changed during the run. */
  readonly alwaysActivated: readonly string[];
  /** All responses with status 500 or above. */
  readonly serverErrors: readonly ServerError[];
  /** Periods in which processes were restarted by SIGTERM and no other fault was active. */
  readonly restarts: readonly Interruption[];
  /** Ends of processes after SIGTERM. */
  readonly terminations: readonly Termination[];
  /** Periods in which the wall clock of a process that signs callbacks was wrong. */
  readonly wrongClocks: readonly Interruption[];
  /** Periods in which the clock of any process or headset was wrong. */
  readonly otherClocks: readonly Interruption[];
  /** Invalid events that the test published, with the consumer groups of their topics. */
  readonly poison: readonly { readonly position: string; readonly groups: readonly string[] }[];
  /** Notifications that arrived after a later one, although their (failed) first attempt was earlier. */
  readonly triedBefore: readonly string[];
  /** Notifications that overtook an earlier one after the maximum wait. */
  readonly impatient: readonly string[];
  /** Periods in which an integrator's server failed every callback. */
  readonly backlogs: readonly (Interruption & { readonly applicationId: string })[];
  /** Callbacks that were given up, from the operators' API. */
  readonly deadDeliveries: readonly DeadDelivery[];
  /** Callbacks that arrived and are missing in the operators' history. */
  readonly unknownCallbacks: readonly string[];
  /** Results of the event feeds' readers; empty: no feed was read. */
  readonly feeds: readonly ReadFeed[];
  /** Callbacks that were replaced or given up. They may be missing in the arrivals. */
  readonly notDelivered: readonly string[];
  /** Locations of devices that integrators have read. */
  readonly readings: readonly Reading[];
  /** Unfinished work at the end of the final wait; empty: none. */
  readonly unfinished: readonly string[];
  /** Exits of processes without a fault or a signal. */
  readonly unexpectedExits: readonly string[];
  /** Dead letters. Only the invalid events of the test may cause them. */
  readonly deadLetters: readonly DeadLetter[];
}

/** The `webhook-id`s of one application's event feed, in feed order. */
export interface ReadFeed {
  readonly applicationId: string;
  /** Read during the faults. */
  readonly followed: readonly string[];
  /** Read from the beginning after the run. */
  readonly again: readonly string[];
  /** Final responses without events. */
  readonly refusals: readonly string[];
}

export interface DeadLetter {
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
  /** Value of Retry-After; empty: absent. */
  readonly retryAfter: string;
  /** X-Request-Id of the response, to find the gateway's log line. */
  readonly requestId: string;
}

export interface Termination {
  readonly process: string;
  /** Exit code or signal. */
  readonly how: string;
  /** Time of the exit, and its delay after SIGTERM; milliseconds. */
  readonly atMs: number;
  readonly tookMs: number;
}

export interface DeadDelivery {
  readonly notificationId: string;
  readonly attempts: number;
  readonly ageMs: number;
  readonly lastOutcome: string;
}

/** The location of a device that an application has read. */
export interface Reading {
  readonly applicationId: string;
  readonly deviceId: string;
  /** Latitude and longitude in the form of `RequestedReport.value`; undefined: null was read. */
  readonly location: string | undefined;
  /** The date of the location in the same response; milliseconds since 1970. */
  readonly updatedAtMs: number | undefined;
  readonly readAtMs: number;
  /** Time at which this application began to activate the device; milliseconds since 1970. */
  readonly activatedAtMs: number;
}

/** One call with all attempts, which have the same Idempotency-Key. */
export interface CallRecord {
  readonly key: string;
  readonly kind: CallKind;
  readonly applicationId: string;
  /** Absent for settings. */
  readonly deviceId?: string;
  readonly attempts: number;
  /** Status of the definitive response; 0: no response. */
  readonly status: number;
  readonly transactionId?: number;
  readonly canceledIds?: readonly number[];
  /** For settings: the value that was set. */
  readonly setting?: { readonly field: string; readonly value: string };
  /** Position in the order of the definitive responses. */
  readonly order: number;
  /** Message of a refusal. */
  readonly message?: string;
}

export interface ListedTransaction {
  readonly applicationId: string;
  readonly transactionId: number;
  readonly deviceId: string;
  readonly transactionStatus: string;
  readonly operationId: string;
}

/** A line of a headset's effects file. */
export interface Effect {
  readonly deviceId: string;
  readonly transactionId: number;
  /** operationId of the call. */
  readonly operation: string;
}

/** A request of the load to a headset. `taken`: the headset has confirmed that it stored the request. */
interface Requested {
  readonly applicationId: string;
  readonly deviceId: string;
  readonly taken: boolean;
}

export interface RequestedReport extends Requested {
  /** operationId of the resulting notification. */
  readonly operationId: string;
  /** The value in the notification (verify/reports.ts). */
  readonly value: string;
  /** Time of the request; milliseconds since 1970. */
  readonly atMs: number;
}

export interface Upload extends Requested {
  readonly file: string;
  /** SHA-256 of the content, hexadecimal. */
  readonly sha256: string;
}

/** One period of usage. Empty deviceId: unknown device. */
export interface Usage {
  readonly applicationId: string;
  readonly deviceId: string;
  readonly kind: 'video' | 'speech';
  /** Unique in a run, so that a usage record can be assigned to its use. */
  readonly durationMs: number;
}

export interface SpentUsage extends Usage, Requested {}

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
  /** Empty: a connection without a device. */
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
  /** SHA-256 of each part, hexadecimal; one entry for an upload without parts. */
  readonly parts: readonly string[];
}

export interface Put {
  readonly file: string;
  /** Part number from 1; 0: the whole file. */
  readonly partNumber: number;
  readonly atMs: number;
  /** True: the sender disconnected before the complete body had arrived. */
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

export interface ApplicationState {
  readonly applicationId: string;
  /** Slots in use, according to the contract. */
  readonly slots: number;
  /** Devices that the application has activated, according to the registry. */
  readonly activatedDevices: readonly string[];
  /** Devices whose activation the clients changed by sequential calls. */
  readonly devices: readonly string[];
}
