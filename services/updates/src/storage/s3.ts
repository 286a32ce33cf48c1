import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rm, stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetBucketLocationCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { createNodeAgents } from '@headset-cloud/outbound/node-agents.ts';
import { NoAnswerError, withinTime } from '@headset-cloud/outbound/time-limit.ts';
import type { EgressProxy } from '@headset-cloud/outbound/tunnel.ts';
import { systemClock } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { type ArtifactStorage, DiskFullError, ObjectChanged } from '../ports/artifact-storage.ts';

export interface S3Options {
  readonly endpoint: string | undefined;
  /** Address for integrators and headsets. */
  readonly publicEndpoint: string | undefined;
  readonly bucket: string;
  readonly region: string;
  readonly tempDir: string | undefined;
  /** Absent: the storage is reached directly. */
  readonly proxy?: EgressProxy | undefined;
  /** Opens a file for writing; tests replace this function to simulate a full disk. */
  readonly openFile?: (path: string) => Writable;
}

const connectTimeoutMs = 1000;
/**
 * Connect time-out through a proxy: connecting to the proxy and then, through it, to the storage. It is shorter than
 * the call's time-out, so that the error of the proxy is reported.
 */
const proxiedConnectTimeoutMs = 2000;
const callTimeoutMs = 2500;
/** The SDK's default without a proxy. */
const maxSockets = 50;
/** Time-out of a copy within the storage, and of the download of an object to this machine. */
const bulkTimeoutMs = 600_000;

export interface S3Storage extends ArtifactStorage {
  /** Creates the folder for checks. Removes files that crashed checks left there. */
  prepare(): Promise<void>;
  close(): void;
}

/** An S3-compatible bucket. Signing needs no call. Every call has a deadline. */
export function createS3Storage(options: S3Options): S3Storage {
  const { bucket: Bucket } = options;
  const openFile = options.openFile ?? ((path) => createWriteStream(path, { flags: 'wx', mode: 0o600 }));
  const location = `bucket ${Bucket} at ${options.endpoint ?? `AWS, ${options.region}`}`;
  const asUnavailable = (error: unknown) => unavailable(error, location);
  const asChangedOrUnavailable = (error: unknown) => {
    const status = statusOf(error);
    return status === 404 || status === 412 ? new ObjectChanged('the object changed') : asUnavailable(error);
  };
  const folder = join(options.tempDir ?? tmpdir(), 'headset-uploads');
  const client = clientOf(options.endpoint, options.region, options.proxy);
  // This client only signs URLs and sends no requests.
  const signer = options.publicEndpoint ? clientOf(options.publicEndpoint, options.region) : client;

  return {
    async prepare() {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      for (const name of await readdir(folder)) {
        const path = join(folder, name);
        // Other instances may share the folder. A running check has no file of this age.
        const found = await stat(path).catch(() => undefined);
        if (found && found.mtimeMs < systemClock.now() - 2 * bulkTimeoutMs) await rm(path, { force: true });
      }
    },

    close() {
      client.destroy();
      if (signer !== client) signer.destroy();
    },

    async requireAvailable() {
      try {
        await within(callTimeoutMs, 'HeadBucket', (limit) =>
          client.send(new HeadBucketCommand({ Bucket }), limit),
        );
      } catch (error) {
        if (statusOf(error) !== 403) throw asUnavailable(error);
        // A response to HEAD has no body and so no error code. This call returns the code for wrong or expired
        // credentials.
        await within(callTimeoutMs, 'GetBucketLocation', (limit) =>
          client.send(new GetBucketLocationCommand({ Bucket }), limit),
        ).catch((reason) => {
          // AccessDenied is no failure: credentials that may write objects need no permission to read the bucket.
          if (statusOf(reason) !== 403 || (reason as Error).name !== 'AccessDenied')
            throw asUnavailable(reason);
        });
      }
    },

    signUpload: ({ key: Key, contentType, sizeBytes, startMs, seconds }) =>
      getSignedUrl(
        signer,
        new PutObjectCommand({ Bucket, Key, ContentType: contentType, ContentLength: sizeBytes }),
        {
          expiresIn: seconds,
          signingDate: new Date(startMs),
          // Covered by the signature: the storage rejects a PUT of another type or length.
          signableHeaders: new Set(['host', 'content-type', 'content-length']),
        },
      ),

    signDownload: ({ key: Key, startMs, seconds }) =>
      getSignedUrl(signer, new GetObjectCommand({ Bucket, Key }), {
        expiresIn: seconds,
        signingDate: new Date(startMs),
      }),

    async head(Key) {
      try {
        const found = await within(callTimeoutMs, 'HeadObject', (limit) =>
          client.send(new HeadObjectCommand({ Bucket, Key }), limit),
        );
        return { sizeBytes: found.ContentLength ?? 0, tag: found.ETag ?? '' };
      } catch (error) {
        if (statusOf(error) === 404) return undefined;
        throw asUnavailable(error);
      }
    },

    async fetch(Key, tag, stop) {
      const path = join(folder, randomUUID());
      const dispose = () => rm(path, { force: true });
      try {
        await within(bulkTimeoutMs, 'GetObject', async ({ abortSignal: limit }) => {
          const signal = stop ? AbortSignal.any([limit, stop]) : limit;
          const found = await client.send(new GetObjectCommand({ Bucket, Key, IfMatch: tag }), {
            abortSignal: signal,
          });
          const body = found.Body as Readable;
          try {
            // Checked before anything is written, because a full disk would affect other programs, too.
            await requireFreeSpace(folder, found.ContentLength ?? 0);
          } catch (error) {
            body.destroy();
            throw error;
          }
          await pipeline(body, openFile(path), { signal });
        });
        return { path, dispose };
      } catch (error) {
        await dispose();
        stop?.throwIfAborted();
        if (error instanceof DiskFullError) throw error;
        if (diskFullCodes.has((error as NodeJS.ErrnoException).code))
          throw new DiskFullError(folder, undefined, error);
        throw asChangedOrUnavailable(error);
      }
    },

    async copyChecked(key, tag, to) {
      try {
        const CopySource = `${Bucket}/${encodeURIComponent(key)}`;
        await within(bulkTimeoutMs, 'CopyObject', (limit) =>
          client.send(new CopyObjectCommand({ Bucket, Key: to, CopySource, CopySourceIfMatch: tag }), limit),
        );
      } catch (error) {
        throw asChangedOrUnavailable(error);
      }
    },

    async remove(Key) {
      try {
        await within(callTimeoutMs, 'DeleteObject', (limit) =>
          client.send(new DeleteObjectCommand({ Bucket, Key }), limit),
        );
      } catch (error) {
        if (statusOf(error) !== 404) throw asUnavailable(error);
      }
    },

    // Not every S3 product compares the tag when it deletes an object, and a newer object must not be lost.
    async discard() {},
  };
}

/** A call with a time limit. */
function within<T>(
  ms: number,
  call: string,
  run: (limit: { readonly abortSignal: AbortSignal }) => Promise<T>,
): Promise<T> {
  return withinTime(ms, `no answer to ${call}`, (abortSignal) => run({ abortSignal }));
}

/** The SDK finds the credentials itself. */
function clientOf(endpoint: string | undefined, region: string, proxy?: EgressProxy): S3Client {
  return new S3Client({
    region,
    forcePathStyle: true,
    ...(endpoint && { endpoint }),
    maxAttempts: 2,
    // With the default the SDK would sign the URL of an upload with the checksum of an empty body.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: proxy
      ? createNodeAgents({ connectTimeoutMs: proxiedConnectTimeoutMs, proxy, maxSockets })
      : { connectionTimeout: connectTimeoutMs },
  });
}

function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } })?.$metadata?.httpStatusCode;
}

function unavailable(error: unknown, location: string): DomainError {
  const status = statusOf(error);
  const { name, message } = error as Error;
  // The SDK uses these names for a response without an error code.
  const code = /^(Unknown|UnknownError|\d+)$/.test(name) ? '' : ` (${name})`;
  const reason =
    status === 404
      ? 'not found'
      : status === undefined
        ? error instanceof NoAnswerError
          ? message
          : `${name}: ${message}`
        : `it answers ${status}${code}`;
  return new DomainError('unavailable', 'The object storage cannot be reached.', {
    cause: error,
    internal: `${location}: ${reason}`,
    retryAfterMs: 5000,
  });
}

/** Error codes of the operating system for a full disk or an exhausted quota. */
const diskFullCodes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT']);

/** Throws DiskFullError if the disk of the folder has less than `bytes` of free space. */
async function requireFreeSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < bytes) throw new DiskFullError(folder, bytes);
}
