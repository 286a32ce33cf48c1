import { create } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import {
  type UrlAnswer,
  UrlAnswerSchema,
  UrlRefusal,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { RawHeadset } from '../testing/raw-headset.ts';
import { deviceId, type Instance, World } from '../testing/world.ts';

let world: World;
let instance: Instance;
let headset: RawHeadset;
beforeEach(async () => {
  world = new World();
  instance = await world.start();
  headset = world.dial(instance, { hello: {} });
  await headset.next('welcome');
});
afterEach(() => world.close());

const ticket = Uint8Array.of(1, 2, 3);
const upload = { file: `app/${deviceId}/upload_files/a.log`, sizeBytes: 5n, activationEpoch: 2n };
const askDownload = (requestId: bigint, downloadTicket: Uint8Array = ticket) =>
  headset.send({
    case: 'urlRequest',
    value: { requestId, about: { case: 'downloadTicket', value: downloadTicket } },
  });
const askUpload = (requestId: bigint) =>
  headset.send({ case: 'urlRequest', value: { requestId, about: { case: 'upload', value: upload } } });
const answers = (): UrlAnswer[] => headset.received.flatMap((b) => (b.case === 'urlAnswer' ? [b.value] : []));
const answer = (over: object) => create(UrlAnswerSchema, over);

describe('requests for URLs', () => {
  it("for a download are answered with updates' URL and its expiry", async () => {
    world.onDownload = async () => ({
      url: 'https://store.example/a?sig=1',
      expiresAtMs: 1_767_225_600_000n,
    });
    askDownload(7n);
    expect(await headset.next('urlAnswer')).toEqual(
      answer({ requestId: 7n, url: 'https://store.example/a?sig=1', expiresAtMs: 1_767_225_600_000n }),
    );
    expect(world.downloads).toMatchObject([{ deviceId, ticket }]);
  });

  it("for an upload are answered with the integrator's URL, through devices", async () => {
    world.onUpload = async () => ({ url: 'https://files.example/put' });
    askUpload(1n);
    expect(await headset.next('urlAnswer')).toEqual(
      answer({ requestId: 1n, url: 'https://files.example/put' }),
    );
    expect(world.uploads).toMatchObject([{ deviceId, upload }]);
  });

  it.each([UrlRefusal.SIZE, UrlRefusal.NOT_ASSOCIATED, UrlRefusal.NO_SIGNED_URL, UrlRefusal.NOT_FOUND])(
    'that are refused (%d) have the reason and no URL',
    async (refusal) => {
      world.onUpload = async () => ({ refusal, url: 'https://never.example' });
      world.onDownload = async () => ({ refusal });
      askUpload(1n);
      expect(await headset.next('urlAnswer')).toEqual(answer({ requestId: 1n, refusal }));
      askDownload(2n);
      expect(await headset.next('urlAnswer')).toEqual(answer({ requestId: 2n, refusal }));
    },
  );

  it('are always answered with a URL or a refusal', async () => {
    askDownload(1n);
    expect(await headset.next('urlAnswer')).toEqual(answer({ requestId: 1n, refusal: UrlRefusal.NOT_FOUND }));
  });

  it('are answered with a retry delay if the service is unavailable, fails, or returns one itself', async () => {
    const { UNAVAILABLE: refusal } = UrlRefusal;
    world.onDownload = async () => {
      throw new DomainError('unavailable', 'away', { retryAfterMs: 1234 });
    };
    askDownload(1n);
    expect(await headset.next('urlAnswer')).toEqual(answer({ requestId: 1n, refusal, retryAfterMs: 1234 }));
    world.onDownload = async () => {
      throw new Error('defect');
    };
    askDownload(2n);
    expect(await headset.next('urlAnswer')).toEqual(answer({ requestId: 2n, refusal, retryAfterMs: 3000 }));
    world.onUpload = async () => ({ refusal });
    askUpload(3n);
    expect(await headset.next('urlAnswer')).toEqual(answer({ requestId: 3n, refusal, retryAfterMs: 3000 }));
    expect(headset.end).toBeUndefined();
  });

  it('that wait for a slow integrator delay nothing else; the ninth gets a retry delay', async () => {
    const slow = Promise.withResolvers<{ url: string }>();
    world.onUpload = () => slow.promise;
    for (let id = 1n; id <= 9n; id += 1n) askUpload(id);
    headset.result(1, 1);
    await waitFor('the ack', () => headset.received.some((b) => b.case === 'reportAck'));
    expect(answers()).toEqual([
      answer({ requestId: 9n, refusal: UrlRefusal.UNAVAILABLE, retryAfterMs: 1000 }),
    ]);
    slow.resolve({ url: 'https://files.example/put' });
    await waitFor('the answers', () => answers().length === 9);
    expect(world.uploads).toHaveLength(8);
    askUpload(10n);
    await waitFor('the next', () => answers().some((a) => a.requestId === 10n && a.url !== ''));
  });

  it('that are repeated with their id are the same request: sent, counted and answered once', async () => {
    const slow = Promise.withResolvers<{ url: string }>();
    world.onUpload = () => slow.promise;
    for (let id = 1n; id <= 8n; id += 1n) askUpload(id);
    for (let id = 1n; id <= 8n; id += 1n) askUpload(id);
    headset.result(1, 1);
    await waitFor('the ack', () => headset.received.some((b) => b.case === 'reportAck'));
    expect(answers()).toEqual([]);
    slow.resolve({ url: 'https://files.example/put' });
    await waitFor('the answers', () => answers().length === 8);
    // These repetitions have crossed their answers.
    for (let id = 1n; id <= 8n; id += 1n) askUpload(id);
    askDownload(9n);
    await waitFor('the next answer', () => answers().some(({ requestId }) => requestId === 9n));
    expect(answers()).toHaveLength(9);
    expect(world.uploads).toHaveLength(8);
  });

  it('are aborted at the end of their session', async () => {
    let aborted = false;
    world.onUpload = (_, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborted = true;
          reject(new Error('gone'));
        });
      });
    askUpload(1n);
    await waitFor('the request', () => world.uploads.length === 1);
    headset.close();
    await waitFor('the end of the request', () => aborted);
  });

  it.each<[string, (h: RawHeadset) => void]>([
    ['without a body', (h) => h.send({ case: 'urlRequest', value: { requestId: 1n } })],
    ['with a ticket over 1 KiB', () => askDownload(1n, new Uint8Array(1025))],
    [
      'with an epoch out of range',
      (h) =>
        h.send({
          case: 'urlRequest',
          value: {
            requestId: 1n,
            about: { case: 'upload', value: { ...upload, activationEpoch: 2n ** 53n } },
          },
        }),
    ],
  ])('%s end the session', async (_, send) => {
    send(headset);
    await headset.ended(status.INVALID_ARGUMENT);
    expect([world.downloads, world.uploads]).toEqual([[], []]);
  });

  it('are counted by kind', async () => {
    askDownload(1n, new Uint8Array(1024));
    await headset.next('urlAnswer');
    const text = await world.metrics.metrics();
    expect(text).toContain('headset_session_messages_total{direction="in",kind="urlRequest"} 1');
    expect(text).toContain('headset_session_messages_total{direction="out",kind="urlAnswer"} 1');
  });
});
