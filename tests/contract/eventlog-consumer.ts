/**
 * A consumer in a process of its own, for the contract suite to kill. Arguments: address, topic,
 * group, how many events to finish. Handles batches of five, tells each event on standard output,
 * and never finishes the batch after those.
 */
import { openLog } from './eventlog-stacks.ts';

const [address = '', topic = '', group = '', finish = '0'] = process.argv.slice(2);
const { log } = await openLog(address);
let finished = 0;
await log.ensureTopics([topic]);
await log.subscribe({
  topic,
  group,
  maxBatch: 5,
  handle: async (events) => {
    const stuck = finished >= Number(finish);
    for (const event of events) {
      process.stdout.write(`${stuck ? 'began' : 'finished'} ${Buffer.from(event.value).toString()}\n`);
    }
    if (stuck) await new Promise(() => {});
    finished += events.length;
  },
});
