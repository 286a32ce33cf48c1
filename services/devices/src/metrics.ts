import { setOrLeaveOut } from '@headset-cloud/runtime/set-or-leave-out.ts';
import { Counter, Gauge, type Registry } from 'prom-client';

/** Metrics of this service. */
export interface DevicesMetrics {
  /** Headset reports consumed, by kind. */
  readonly reports: Pick<Counter<'kind'>, 'inc'>;
  /** Reports that no application was notified of, by reason. */
  readonly reportsDropped: Pick<Counter<'reason'>, 'inc'>;
  /** Implausible times from headsets that were replaced by the time of arrival, by time and reason (rule A24). */
  readonly timesReplaced: Pick<Counter<'time' | 'reason'>, 'inc'>;
  /** Notifications published, by kind. */
  readonly notifications: Pick<Counter<'kind'>, 'inc'>;
  /** Headsets' requests for an upload URL, by outcome. */
  readonly uploadUrls: Pick<Counter<'outcome'>, 'inc'>;
}

/** Registers the service's metrics (rule C18). `pending` is called at each scrape. */
export function createMetrics(registry: Registry, pending: () => Promise<number>): DevicesMetrics {
  new Gauge({
    name: 'headset_devices_pending_changes',
    help: 'Devices with an activation, deactivation or reset that has pending work. If more than a few remain, transactions or the log is unavailable. Whole platform: use max, not sum.',
    registers: [registry],
    async collect() {
      await setOrLeaveOut(this, {}, pending);
    },
  });
  return {
    reports: new Counter({
      name: 'headset_device_reports_total',
      help: 'Headset reports about themselves, and hellos, that were handled, by kind.',
      labelNames: ['kind'],
      registers: [registry],
    }),
    reportsDropped: new Counter({
      name: 'headset_device_reports_dropped_total',
      help: 'Reports of which no application was notified, by reason: not_associated (of an earlier or no activation), out_of_specification.',
      labelNames: ['reason'],
      registers: [registry],
    }),
    timesReplaced: new Counter({
      name: 'headset_device_times_replaced_total',
      help: 'Times in reports of headsets that the cloud replaced by the arrival, by time (report, speech_usage) and reason: past (before the activation), future. Many of one kind show headsets with a wrong clock.',
      labelNames: ['time', 'reason'],
      registers: [registry],
    }),
    notifications: new Counter({
      name: 'headset_device_notifications_total',
      help: 'Notifications from headsets without a transaction that were published, by operationId or file-upload.',
      labelNames: ['kind'],
      registers: [registry],
    }),
    uploadUrls: new Counter({
      name: 'headset_file_upload_urls_total',
      help: "Headsets' requests for an upload address, by outcome: given, size, not_associated, no_signed_url, unavailable.",
      labelNames: ['outcome'],
      registers: [registry],
    }),
  };
}
