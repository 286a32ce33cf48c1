/**
 * A consumer in a process of its own, for the contract suite to kill. Arguments: address, topic,
 * group, how many events to finish, and milliseconds that an event takes (0). Tells each batch and event on standard output, and
 * never finishes the batch after those. Handles batches of five; where events take time, of as many as it is given.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { openLog } from './eventlog-stacks.ts';

const [address = '', topic = '', group = '', finish = '0', eventMs = '0'] = process.argv.slice(2);
const { log } = await openLog(address);
let finished = 0;
await log.ensureTopics([topic]);
await log.subscribe({
  topic,
  group,
  ...(eventMs === '0' && { maxBatch: 5 }),
  handle: async (events) => {
    process.stdout.write(`batch of ${events.length}\n`);
    const stuck = finished >= Number(finish);
    for (const event of events) {
      process.stdout.write(`${stuck ? 'began' : 'finished'} ${Buffer.from(event.value).toString()}\n`);
    }
    if (stuck) await new Promise(() => {});
    await delay(events.length * Number(eventMs));
    finished += events.length;
  },
});
