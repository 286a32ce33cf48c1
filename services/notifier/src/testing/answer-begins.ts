import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** Resolves when undici has read the headers of the next answer, or a first part of its body. */
export function answerBegins(of: 'headers' | 'body' = 'headers'): Promise<void> {
  const channel = of === 'headers' ? 'undici:request:headers' : 'undici:request:bodyChunkReceived';
  const { promise, resolve } = Promise.withResolvers<void>();
  const onMessage = () => {
    unsubscribe(channel, onMessage);
    resolve();
  };
  subscribe(channel, onMessage);
  return promise;
}
