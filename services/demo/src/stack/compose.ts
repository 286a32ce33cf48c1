import { execFileSync } from 'node:child_process';
import { root } from './process.ts';

/** The addresses that compose.yaml publishes. */
const published = {
  MONGODB_URI: 'mongodb://127.0.0.1:27017/?directConnection=true',
  KAFKA_BROKERS: '127.0.0.1:9092',
  S3_ENDPOINT: 'http://127.0.0.1:7070',
  AWS_ACCESS_KEY_ID: 'headset-cloud',
  AWS_SECRET_ACCESS_KEY: 'headset-cloud-local',
};

/** Returns why Docker Compose is not available; undefined if it is. */
export function whyNoCompose(): string | undefined {
  try {
    execFileSync('docker', ['compose', 'version'], { stdio: 'ignore', timeout: 10_000 });
    execFileSync('docker', ['info'], { stdio: 'ignore', timeout: 10_000 });
    return undefined;
  } catch {
    return 'no Docker engine with Compose answers either';
  }
}

/** Starts MongoDB, Kafka and S3 from compose.yaml and sets their addresses in the environment. They keep running. */
export function startCompose(): void {
  try {
    execFileSync('docker', ['compose', 'up', '-d', '--wait'], {
      cwd: root,
      stdio: 'inherit',
      timeout: 300_000,
    });
  } catch (error) {
    throw new Error(`docker compose up failed: ${(error as Error).message}`);
  }
  Object.assign(process.env, published);
}
