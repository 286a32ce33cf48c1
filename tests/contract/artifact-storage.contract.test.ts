import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { type ArtifactStorage, ObjectChanged } from '@headset-cloud/updates/ports/artifact-storage.ts';
import { request } from 'undici';
import { describeUnless } from '../support/skip.ts';
import { localStorageStack, s3StorageStack } from './artifact-storages.ts';

/** The storage of packages and firmware: the same promises on the local disk and on S3 (rule C16). */
const contentType = 'application/vnd.android.package-archive';
const secondsNow = () => Math.floor(Date.now() / 1000) * 1000;
const uploadKey = () => `uploads/${randomUUID()}`;

async function put(url: string, body: Buffer, headers: Record<string, string> = {}): Promise<number> {
  const answer = await request(url, {
    method: 'PUT',
    body,
    headers: { 'content-type': contentType, ...headers },
  });
  await answer.body.dump();
  return answer.statusCode;
}

async function get(url: string, headers: Record<string, string> = {}) {
  const answer = await request(url, { headers });
  const body = Buffer.from(await answer.body.arrayBuffer());
  return { status: answer.statusCode, headers: answer.headers, body };
}

for (const stack of [localStorageStack(), s3StorageStack()]) {
  describeUnless(stack.missing, stack.name, () => {
    let storage: ArtifactStorage;
    beforeAll(async () => {
      ({ storage } = await stack.start());
    });
    afterAll(() => stack.stop());

    const signUpload = (key: string, sizeBytes: number, startMs = secondsNow(), seconds = 3600) =>
      storage.signUpload({ key, contentType, sizeBytes, startMs, seconds });
    const signDownload = (key: string, startMs = secondsNow(), seconds = 3600) =>
      storage.signDownload({ key, startMs, seconds });
    const uploaded = async (content: Buffer): Promise<string> => {
      const key = uploadKey();
      expect(await put(await signUpload(key, content.length), content)).toBe(200);
      return key;
    };

    it('accepts an upload as signed, and returns it', async () => {
      const content = randomBytes(300_000);
      const key = await uploaded(content);
      expect(await storage.head(key)).toEqual({ sizeBytes: 300_000, tag: expect.stringMatching(/./) });
      const loaded = await get(await signDownload(key));
      expect([loaded.status, loaded.headers['accept-ranges']]).toEqual([200, 'bytes']);
      expect(loaded.body.equals(content)).toBe(true);
    });

    it.each<[string, Buffer, Record<string, string>]>([
      ['another type', Buffer.alloc(1000), { 'content-type': 'application/octet-stream' }],
      ['a type with a parameter', Buffer.alloc(1000), { 'content-type': `${contentType}; charset=utf-8` }],
      ['a byte less', Buffer.alloc(999), {}],
      ['a byte more', Buffer.alloc(1001), {}],
      ['nothing', Buffer.alloc(0), {}],
    ])('refuses %s with 403, and stores nothing', async (_, body, headers) => {
      const key = uploadKey();
      expect(await put(await signUpload(key, 1000), body, headers)).toBe(403);
      expect(await storage.head(key)).toBeUndefined();
    });

    // protects against files/url-size
    it('rejects an upload without a length', async () => {
      const key = uploadKey();
      const answer = await request(await signUpload(key, 4), {
        method: 'PUT',
        headers: { 'content-type': contentType },
        body: Readable.from([Buffer.from('four')]),
      });
      await answer.body.dump();
      expect(answer.statusCode).toBeGreaterThanOrEqual(400);
      expect(await storage.head(key)).toBeUndefined();
    });

    // protects against files/url-expired
    it('rejects an expired URL with 403', async () => {
      const key = uploadKey();
      expect(await put(await signUpload(key, 4, secondsNow() - 10_000, 5), Buffer.from('four'))).toBe(403);
      expect(await storage.head(key)).toBeUndefined();
      const there = await uploaded(Buffer.from('four'));
      expect((await get(await signDownload(there, secondsNow() - 10_000, 5))).status).toBe(403);
    });

    // protects against files/url-changed
    it('rejects a URL with any changed part, and a URL for another method, with 403', async () => {
      const key = await uploaded(Buffer.from('four'));
      const download = await signDownload(key);
      const upload = await signUpload(uploadKey(), 4);
      // Changes the second last character of the signature: the last may have unused bits.
      const changed = (url: string) =>
        url.replace(/(.)(.)(&[^&]*|$)$/, (_, a, b, c) => (a === 'a' ? 'b' : 'a') + b + c);
      expect((await get(changed(download))).status).toBe(403);
      expect(await put(changed(upload), Buffer.from('four'))).toBe(403);
      expect((await get(upload)).status).toBe(403);
      expect(await put(download, Buffer.from('evil'))).toBe(403);
      expect((await get(await signDownload(key))).body.toString()).toBe('four');
    });

    it('serves ranges', async () => {
      const url = await signDownload(await uploaded(Buffer.from('0123456789')));
      const part = async (range: string) => {
        const { status, headers, body } = await get(url, { range });
        return [status, headers['content-range'], body.toString()];
      };
      expect(await part('bytes=0-0')).toEqual([206, 'bytes 0-0/10', '0']);
      expect(await part('bytes=4-')).toEqual([206, 'bytes 4-9/10', '456789']);
      expect(await part('bytes=2-5')).toEqual([206, 'bytes 2-5/10', '2345']);
      expect(await part('bytes=-3')).toEqual([206, 'bytes 7-9/10', '789']);
      expect((await get(url, { range: 'bytes=10-' })).status).toBe(416);
    });

    it('an interrupted download continues at its position, also with another URL', async () => {
      const content = randomBytes(4_000_000);
      const key = await uploaded(content);
      const controller = new AbortController();
      const first: Buffer[] = [];
      let received = 0;
      const answer = await request(await signDownload(key), { signal: controller.signal });
      await expect(
        (async () => {
          for await (const chunk of answer.body) {
            first.push(chunk);
            received += chunk.length;
            if (received > 100_000) controller.abort();
          }
        })(),
      ).rejects.toThrow();
      const rest = await get(await signDownload(key), { range: `bytes=${received}-` });
      expect([rest.status, received < content.length]).toEqual([206, true]);
      expect(Buffer.concat([...first, rest.body]).equals(content)).toBe(true);
    });

    // protects against files/stall
    it('an interrupted upload never counts as complete, and can be repeated', async () => {
      const key = uploadKey();
      const url = new URL(await signUpload(key, 1_000_000));
      const socket = connect(Number(url.port), url.hostname);
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.write(
        `PUT ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: ${contentType}\r\nContent-Length: 1000000\r\n\r\n`,
      );
      await new Promise((resolve) => socket.write(Buffer.alloc(400_000), resolve));
      expect(await storage.head(key)).toBeUndefined();
      socket.destroy();
      await closed;
      const content = randomBytes(1_000_000);
      // versitygw keeps the received bytes; the size shows the interruption.
      expect((await storage.head(key))?.sizeBytes ?? 0).toBeLessThan(1_000_000);
      if (!stack.server) expect(await storage.head(key)).toBeUndefined();
      expect(await put(url.href, content)).toBe(200);
      expect((await get(await signDownload(key))).body.equals(content)).toBe(true);
    });

    it('concurrent uploads do not mix: each key has its own content, and one key has one complete upload', async () => {
      const contents = Array.from({ length: 8 }, () => randomBytes(200_000));
      const keys = await Promise.all(contents.map(uploaded));
      for (const [i, key] of keys.entries()) {
        expect((await get(await signDownload(key))).body.equals(contents[i] as Buffer)).toBe(true);
      }
      const key = uploadKey();
      const url = await signUpload(key, 200_000);
      await Promise.all(contents.map((content) => put(url, content)));
      const { body } = await get(await signDownload(key));
      expect(contents.filter((content) => content.equals(body))).toHaveLength(1);
    });

    // protects against files/swap
    it('a checked file is sealed: a later upload to the same URL does not change it', async () => {
      const content = randomBytes(1000);
      const key = await uploaded(content);
      const { tag = '' } = (await storage.head(key)) ?? {};
      const copy = await storage.fetch(key, tag);
      expect(readFileSync(copy.path).equals(content)).toBe(true);
      const to = `artifacts/${randomUUID()}.${createHash('sha256').update(content).digest('hex')}`;
      await storage.copyChecked(key, tag, to);
      // Again, as after a crash.
      await storage.copyChecked(key, tag, to);
      expect(await put(await signUpload(key, 1000), randomBytes(1000))).toBe(200);
      expect(readFileSync(copy.path).equals(content)).toBe(true);
      await copy.dispose();
      await copy.dispose();
      expect((await get(await signDownload(to))).body.equals(content)).toBe(true);
      // The current content differs from the checked content.
      await expect(storage.fetch(key, tag)).rejects.toThrow(ObjectChanged);
      await expect(storage.copyChecked(key, tag, to)).rejects.toThrow(ObjectChanged);
      expect((await get(await signDownload(to))).body.equals(content)).toBe(true);
    });

    it('removes once or twice; a missing object is reported', async () => {
      const key = await uploaded(Buffer.from('four'));
      const { tag = '' } = (await storage.head(key)) ?? {};
      const url = await signDownload(key);
      await storage.remove(key);
      await storage.remove(key);
      expect(await storage.head(key)).toBeUndefined();
      expect((await get(url)).status).toBe(404);
      await expect(storage.fetch(key, tag)).rejects.toThrow(ObjectChanged);
      await expect(storage.copyChecked(key, tag, `artifacts/${randomUUID()}.00`)).rejects.toThrow(
        ObjectChanged,
      );
    });

    it('an unavailable storage is reported, still signs URLs, and recovers', async () => {
      await storage.requireAvailable(1);
      const server = stack.server?.();
      if (!server) return;
      const key = await uploaded(Buffer.from('four'));
      await server.kill();
      for (const call of [storage.requireAvailable(1), storage.head(key)]) {
        const error = await call.catch((e: unknown) => e);
        expect(error).toBeInstanceOf(DomainError);
        expect(error).toMatchObject({ code: 'unavailable', retryAfterMs: 5000 });
      }
      const url = await signDownload(key);
      await server.restart();
      await waitFor('the storage', () =>
        storage.requireAvailable(1).then(
          () => true,
          () => false,
        ),
      );
      expect((await get(url)).body.toString()).toBe('four');
    });
  });
}

it('a disk without space for an upload is reported as unavailable', async () => {
  const stack = localStorageStack();
  const { storage } = await stack.start();
  await expect(storage.requireAvailable(Number.MAX_SAFE_INTEGER)).rejects.toMatchObject({
    code: 'unavailable',
    message: 'The storage is full.',
  });
  await stack.stop();
});
