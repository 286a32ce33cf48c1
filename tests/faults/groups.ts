import { auditGroup } from '@headset-cloud/billing/audit/keeper.ts';
import { deviceLifecycleGroup } from '@headset-cloud/billing/consumers/device-lifecycle.ts';
import { usageGroup } from '@headset-cloud/billing/consumers/usage.ts';
import { deviceReportsGroup as devicesGroup } from '@headset-cloud/devices/consumers/device-reports.ts';
import { topics } from '@headset-cloud/eventlog/types.ts';

/** Consumer groups of each topic (from each service's build.ts). */
export const groups: readonly { readonly group: string; readonly topic: string }[] = [
  { topic: topics.transactionReports, group: 'transactions' },
  { topic: topics.deviceReports, group: devicesGroup },
  { topic: topics.notifications, group: 'notifier' },
  { topic: topics.deviceLifecycle, group: deviceLifecycleGroup },
  { topic: topics.usage, group: usageGroup },
  { topic: topics.audit, group: auditGroup },
];
