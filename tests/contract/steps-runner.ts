import { createFailpoints } from '@headset-cloud/kit/failpoints.ts';
import { createLogger } from '@headset-cloud/kit/logger.ts';
import { createStepRunner, stepFailpoints } from '@headset-cloud/kit/schema/runner.ts';
import { connectMongo } from '@headset-cloud/kit/store/mongo.ts';
import { contractSteps } from './steps-of-test.ts';

/** Runs the steps. Arguments: the server's URI, the database prefix, and the failpoint at which the process dies. */
const [uri = '', databasePrefix = '', failpoint = ''] = process.argv.slice(2);
const connection = await connectMongo({ uri, databasePrefix, appName: 'steps-contract' });
await createStepRunner({
  store: connection.database('billing'),
  steps: contractSteps,
  logger: createLogger({ service: 'contract', level: 'silent' }),
  holder: 'child',
  failpoints: createFailpoints(failpoint, stepFailpoints, {}),
}).attempt();
await connection.close();
