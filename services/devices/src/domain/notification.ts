/** A callback that results from a headset's report. */
export interface DeviceNotification {
  /** A repeat of the report has the same id. */
  readonly id: string;
  readonly destination: 'deviceEvent' | 'fileUploadEvent';
  /** Kind for metrics: the operationId, or 'file-upload'. */
  readonly kind: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Device of a report, application to be notified, and time of the event. */
export interface ReportSubject {
  readonly applicationId: string;
  readonly deviceId: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}
