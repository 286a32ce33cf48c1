/** A callback that a headset's report causes. */
export interface DeviceNotification {
  /** Stable over repeats of the report. */
  readonly id: string;
  readonly destination: 'deviceEvent' | 'fileUploadEvent';
  /** What it is, for metrics: the operationId, or 'file-upload'. */
  readonly kind: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Whom a report is about, who hears of it, and when it happened. */
export interface ReportSubject {
  readonly applicationId: string;
  readonly deviceId: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}
