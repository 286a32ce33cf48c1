/**
 * Ends when the broker has ended the sessions of all members of a group. Arguments: brokers, group. The test of a
 * frozen member waits for this process without its own event loop.
 */
import { createClient } from '@headset-cloud/eventlog/kafka-client.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';

const [brokers = '', group = ''] = process.argv.slice(2);
const logger = createLogger({ service: 'contract', level: 'silent' });
const admin = createClient({
  ...{ brokers: brokers.split(','), clientId: 'contract', logger, onFatal: () => {} },
}).admin();
await admin.connect();
await waitFor('the group to have no member', async () => {
  const { groups } = await admin.describeGroups([group]);
  return groups.every(({ members }) => members.length === 0);
});
await admin.disconnect();
