import { main } from '@headset-cloud/kit/main.ts';
import { runPlatform } from './platform.ts';

await main('platform', () => runPlatform(process.env));
