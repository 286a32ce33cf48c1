import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { RawHeadset } from '../testing/raw-headset.ts';
import { offer, World } from '../testing/world.ts';

/** Headsets that report right after their hello, while the log is unavailable. */

const limitBytes = 300_000;
const reportBytes = 20_000;
/** Far above the memory of a queued hello of these tests; bytes. */
const helloBytes = 2_000;
const early = Array.from({ length: 20 }, (_, i) => `35000000000${1000 + i}`);
const late = Array.from({ length: 20 }, (_, i) => `35000000000${2000 + i}`);

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

const queuedBytes = async () => {
  const text = await world.metrics.getSingleMetricAsString('headset_queued_report_bytes');
  return Number(/headset_queued_report_bytes (\d+)/.exec(text)?.[1]);
};

// protects against headsets/report-flood
it('while the log is unavailable, reports of many headsets stay within the limit, also for late headsets', async () => {
  for (const id of [...early, ...late]) {
    world.registerKey(id, 'k1');
    world.registerKey(`${id.slice(0, 3)}1${id.slice(4)}`, 'k1');
  }
  const instance = await world.start({ DEVICE_LINK_QUEUED_REPORT_BYTES: limitBytes });
  world.onOnline = async () => ({ offers: [offer(1)] });
  world.logUnavailable = true;
  const connect = async (id: string) => {
    const headset = world.dial(instance, { id, hello: {} });
    for (let n = 1; n <= 13; n += 1) {
      headset.send({
        case: 'report',
        value: {
          reportId: BigInt(n),
          body: {
            case: 'appAnswer',
            value: { transactionId: 1n, success: true, customData: 'x'.repeat(reportBytes) },
          },
        },
      });
    }
    await headset.next('welcome');
    // A later stream of the same connection is welcomed: the first window of reports has arrived before.
    const marker = world.dial(instance, {
      id: `${id.slice(0, 3)}1${id.slice(4)}`,
      hello: {},
      beside: headset,
    });
    await marker.next('welcome');
    return headset;
  };
  const headsets: RawHeadset[] = [];
  for (const id of [...early, ...late]) {
    headsets.push(await connect(id));
    const hellos = 2 * headsets.length * helloBytes;
    expect(await queuedBytes()).toBeLessThan(limitBytes + reportBytes + hellos);
  }
  expect(await queuedBytes()).toBeGreaterThan(limitBytes);
  // Nothing is lost.
  world.logUnavailable = false;
  const acknowledged = () =>
    headsets.filter(({ received }) =>
      received.some((body) => body.case === 'reportAck' && body.value.reportId === 13n),
    );
  await waitFor('all acknowledgements', () => acknowledged().length === headsets.length);
});
