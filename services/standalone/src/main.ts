import { main } from '@headset-cloud/process/process.ts';
import { runPlatform } from './platform.ts';

await main('platform', () => runPlatform(process.env));
