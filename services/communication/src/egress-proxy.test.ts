import { type ConnectProxy, startConnectProxy } from '@headset-cloud/outbound/testing/connect-proxy.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { single, useStudio } from './testing/recordings.ts';

const use = useStudio(single);
let proxy: ConnectProxy;
beforeEach(async () => {
  proxy = await startConnectProxy();
  await use.studio.world.restart({ EGRESS_PROXY: proxy.origin });
});
afterEach(() => proxy.close());

const ports = () => new Set(proxy.asked.map((target) => Number(target.split(':')[1])));
const portOf = (url: string) => Number(new URL(url).port);

test("Sora's archive is read and the integrator's storage written through the proxy", async () => {
  const recording = use.studio.record();
  await use.studio.sendWebhooks(recording);
  await use.studio.notification(recording);
  expect(await use.studio.state(recording)).toBe('saved');
  expect(ports()).toEqual(new Set([portOf(use.studio.sora.archiveUrl), portOf(use.studio.storage.origin)]));
});

test('a recording waits while the proxy rejects it, and continues when the proxy works again', async () => {
  proxy.conduct = { status: 403 };
  const recording = use.studio.record();
  await use.studio.sendWebhooks(recording);
  const tick = use.studio.tick();
  try {
    await waitFor('two attempts', () => proxy.asked.length >= 2);
    expect(await use.studio.state(recording)).not.toBe('failed');
    proxy.conduct = 'open';
    await use.studio.notification(recording);
  } finally {
    clearInterval(tick);
  }
  expect(await use.studio.state(recording)).toBe('saved');
});
