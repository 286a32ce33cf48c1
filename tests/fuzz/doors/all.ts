import type { Door } from './door.ts';
import { json } from './json.ts';
import { messages } from './messages.ts';
import { streamBytes } from './stream-bytes.ts';
import { tokens } from './tokens.ts';
import { urls } from './urls.ts';
import { webhooks } from './webhooks.ts';

/** Every door of the fuzz test. */
export const doors: readonly Door[] = [tokens, json, messages, streamBytes, urls, webhooks];
