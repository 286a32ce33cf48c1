import { main } from '@headset-cloud/kit/process.ts';
import { runPlatform } from './platform.ts';

await main('platform', () => runPlatform(process.env));
