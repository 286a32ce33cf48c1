/**
 * A consumer in its own process, which the contract suite kills. Arguments: address, topic, group, number of events
 * to finish, milliseconds that each event takes (default 0). Prints each batch and event on standard output. Never
 * finishes the batch after those events. Handles batches of five; if events take time, batches of any size. Then
 * the second batch waits until the offset behind the first one is stored, prints `stored`, and never ends.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { openLog } from './eventlog-stacks.ts';

const [address = '', topic = '', group = '', finish = '0', eventMs = '0'] = process.argv.slice(2);
const takesTime = eventMs !== '0';
// Shorter than most brokers accept, so that another member takes over earlier from a killed member.
const shortSession = process.env['KAFKA_BROKERS'] ? {} : { sessionTimeoutMs: 3000 };
const { log, storedLag } = await openLog(address, shortSession);
let finished = 0;
await log.ensureTopics([topic]);
const lagAtStart = await storedLag(group, topic);
await log.subscribe({
  topic,
  group,
  ...(!takesTime && { maxBatch: 5 }),
  handle: async (events) => {
    process.stdout.write(`batch of ${events.length}\n`);
    const stuck = finished >= Number(finish);
    for (const event of events) {
      process.stdout.write(`${stuck ? 'began' : 'finished'} ${Buffer.from(event.value).toString()}\n`);
    }
    if (takesTime && finished > 0) {
      await waitFor('the offset', async () => (await storedLag(group, topic)) < lagAtStart);
      process.stdout.write('stored\n');
    }
    if (stuck || (takesTime && finished > 0)) await new Promise(() => {});
    await delay(events.length * Number(eventMs));
    finished += events.length;
  },
});
