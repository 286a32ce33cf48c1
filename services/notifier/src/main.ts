import { hostService, main } from '@headset-cloud/kit/host.ts';
import { notifier } from './definition.ts';

await main(notifier.name, () => hostService(notifier));
