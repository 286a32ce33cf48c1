import type { InstanceCounts } from '@headset-cloud/demo/stack/instances.ts';
import { whyNoS3 } from '@headset-cloud/demo/stack/s3.ts';
import { serviceNames } from '@headset-cloud/runtime/service-names.ts';

/** INSTANCES: number of processes of each service and of the gateway in the suite's real stack. */
export function instancesWanted(): number {
  const wanted = Number(process.env['INSTANCES'] || 1);
  if (!Number.isSafeInteger(wanted) || wanted < 1) throw new Error('INSTANCES is not a number');
  return wanted;
}

/** This many processes of every service. Without S3, packages lie on the disk of one process. */
export function ofEveryService(count: number): InstanceCounts {
  const updates = process.env['S3_ENDPOINT'] || !whyNoS3() ? count : 1;
  return { ...Object.fromEntries(serviceNames.map((service) => [service, count])), updates };
}
