import { json } from './json.ts';
import type { Listener } from './listener.ts';
import { messages } from './messages.ts';
import { streamBytes } from './stream-bytes.ts';
import { tokens } from './tokens.ts';
import { urls } from './urls.ts';
import { webhooks } from './webhooks.ts';

/** Every listener of the fuzz test. */
export const listeners: readonly Listener[] = [tokens, json, messages, streamBytes, urls, webhooks];
