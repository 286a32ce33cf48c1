import { main } from '@headset-cloud/kit/host.ts';
import { runPlatform } from './platform.ts';

await main('platform', () => runPlatform(process.env));
