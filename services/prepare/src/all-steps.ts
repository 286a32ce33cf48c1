import { billingSteps } from '@headset-cloud/billing/store/steps.ts';
import { communicationSteps } from '@headset-cloud/communication/store/steps.ts';
import { deviceLinkSteps } from '@headset-cloud/device-link/store/steps.ts';
import { devicesSteps } from '@headset-cloud/devices/store/steps.ts';
import { notifierSteps } from '@headset-cloud/notifier/store/steps.ts';
import type { ServiceName } from '@headset-cloud/runtime/service-names.ts';
import type { ServiceSteps } from '@headset-cloud/store/schema/steps.ts';
import { transactionsSteps } from '@headset-cloud/transactions/store/steps.ts';
import { updatesSteps } from '@headset-cloud/updates/store/steps.ts';

/** The steps of every service that stores something. */
export const allSteps: Readonly<Record<Exclude<ServiceName, 'connectivity'>, ServiceSteps>> = {
  devices: devicesSteps,
  transactions: transactionsSteps,
  updates: updatesSteps,
  communication: communicationSteps,
  billing: billingSteps,
  'device-link': deviceLinkSteps,
  notifier: notifierSteps,
};
