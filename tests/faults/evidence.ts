/** What a run recorded from outside; plain data, so that the judge is a pure function of it. */
export interface Evidence {
  readonly calls: readonly CallRecord[];
  /** What the list call answered in the end, of all applications. */
  readonly transactions: readonly ListedTransaction[];
  /** Callbacks in the order of their arrival, repeats included. */
  readonly arrivals: readonly Arrival[];
  /** Lines of the headsets' effects files. */
  readonly effects: readonly { readonly deviceId: string; readonly transactionId: number }[];
  readonly settings: readonly FinalSetting[];
  readonly applications: readonly ApplicationStanding[];
  /** Devices whose headset's apps answer commands by themselves. */
  readonly answeringDevices: readonly string[];
  /** What was still open when the waiting ended; empty: nothing. */
  readonly unfinished: readonly string[];
  /** Processes that ended without being told to, while nothing they need was away. */
  readonly ownDeaths: readonly string[];
}

export type CallKind = 'command' | 'activate' | 'deactivate' | 'reset' | 'cancel' | 'settings';

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

export interface Arrival {
  readonly webhookId: string;
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
