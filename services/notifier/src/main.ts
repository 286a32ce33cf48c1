import { hostService } from '@headset-cloud/kit/host.ts';
import { main } from '@headset-cloud/kit/process.ts';
import { notifier } from './definition.ts';

await main(notifier.name, () => hostService(notifier));
