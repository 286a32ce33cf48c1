import { main } from '@headset-cloud/kit/host.ts';
import { runPlatform } from './platform.ts';

await main(() => runPlatform(process.env));
