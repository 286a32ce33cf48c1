import { main } from '@headset-cloud/process/process.ts';
import { raiseMongo } from './raise.ts';

await main('raise', () => raiseMongo(process.env, process.argv.slice(2)));
