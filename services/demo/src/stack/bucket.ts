import { CreateBucketCommand, HeadBucketCommand, S3Client } from '@aws-sdk/client-s3';

/** Creates a bucket if it does not exist. Only for tests and `make up`: the services never create a bucket. */
export async function createBucket(options: {
  endpoint: string;
  bucket: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
}): Promise<void> {
  const { accessKeyId, secretAccessKey, bucket: Bucket } = options;
  const client = new S3Client({
    endpoint: options.endpoint,
    region: options.region,
    forcePathStyle: true,
    maxAttempts: 1,
    ...(accessKeyId && { credentials: { accessKeyId, secretAccessKey } }),
    requestHandler: { connectionTimeout: 1000 },
  });
  const within = () => ({ abortSignal: AbortSignal.timeout(2000) });
  try {
    await client.send(new HeadBucketCommand({ Bucket }), within());
  } catch (error) {
    const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
    if (status !== 404) throw error;
    await client.send(new CreateBucketCommand({ Bucket }), within());
  } finally {
    client.destroy();
  }
}
