/** A callback that a headset's report causes. */
export interface DeviceNotification {
  /** Stable over repeats of the report. */
  readonly id: string;
  readonly destination: 'deviceEvent' | 'fileUploadEvent';
  /** The kind, for metrics: the operationId, or 'file-upload'. */
  readonly kind: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The device of a report, the application to be notified, and when it happened. */
export interface ReportSubject {
  readonly applicationId: string;
  readonly deviceId: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}
