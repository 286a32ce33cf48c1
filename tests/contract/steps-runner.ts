import { type Crash, withCrashes } from '@headset-cloud/process/testing/crash-points.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { connectMongo } from '@headset-cloud/store/mongo.ts';
import { createStepRunner } from '@headset-cloud/store/schema/runner.ts';
import { contractSteps } from './steps-of-test.ts';

/** Runs the steps. Arguments: the server's URI, the database prefix, and the failpoint at which the process dies. */
const [uri = '', databasePrefix = '', cutAt = ''] = process.argv.slice(2);
const next: Crash = { cutAt };
const die = () => process.kill(process.pid, 'SIGKILL');
const connection = await connectMongo({ uri, databasePrefix, appName: 'steps-contract' });
await createStepRunner({
  ...withCrashes('billing', { store: connection.database('billing') }, () => next, die),
  steps: contractSteps,
  logger: createLogger({ service: 'contract', level: 'silent' }),
  holder: 'child',
}).attempt();
await connection.close();
