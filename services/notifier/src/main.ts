import { hostService } from '@headset-cloud/process/host.ts';
import { main } from '@headset-cloud/process/process.ts';
import { notifier } from './definition.ts';

await main(notifier.name, () => hostService(notifier));
